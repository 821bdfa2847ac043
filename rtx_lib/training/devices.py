"""Where to compute."""

import torch


def choose_device(name: str | torch.device = "auto") -> torch.device:
    """The device of that name, checked; for ``"auto"`` a GPU if torch can use one here, else the CPU."""
    if name == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    check_device(name)
    return torch.device(name)


def check_device(device: str | torch.device) -> None:
    """Raise ``ValueError`` unless torch knows the device and can use it here."""
    try:
        torch.empty(1, device=device)
    except (RuntimeError, AssertionError) as error:  # the latter by a torch that was built without CUDA
        reason = str(error).partition("\n")[0]
        raise ValueError(f"device must be one that torch can use here, got {device!r}: {reason}") from error
