"""MambaLM with the weights of Hugging Face's MambaForCausalLM: its logits, its state, and what it writes.

The weights are drawn here: nothing is fetched.
"""

import pytest
import torch
from support.compare import random_parameters
from support.helpers import drawn

from rtx_lib import sample
from rtx_lib.models import MambaLM

transformers = pytest.importorskip("transformers")

SIZES = {
    "usual": {},
    "no bias of the convolution": {"use_conv_bias": False, "num_hidden_layers": 1},
    "wide steps, few states": {"time_step_rank": 5, "state_size": 3, "hidden_size": 20},
    "expanded, seen far": {"expand": 3, "conv_kernel": 7, "num_hidden_layers": 3, "vocab_size": 50},
}


def theirs(size):
    """A model in eval mode, whose weights are all drawn far from 0, so that none can be left out unseen."""
    given = {"vocab_size": 11, "hidden_size": 16, "num_hidden_layers": 2, "eos_token_id": None, "pad_token_id": 0}
    config = transformers.MambaConfig(**given | SIZES[size])
    return random_parameters(drawn(0, transformers.MambaForCausalLM, config)).eval()


def ids_for(model, *shape):
    return torch.randint(model.config.vocab_size, shape, generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize("size", SIZES)
def test_the_same_logits(size):
    their = theirs(size)
    model, x = MambaLM.from_huggingface(their.state_dict()), ids_for(their, 3, 40)
    assert model.output_size == their.config.vocab_size and next(model.parameters()).dtype == torch.float32
    with torch.no_grad():
        logits, first = their(x).logits, their(x[:, :25])
        pieces, state = model(x[:, :25])
        assert (model(x)[0] - logits).abs().max() < 1e-5 * logits.abs().max()
        # One more letter from the state that either has kept.
        assert (pieces - first.logits).abs().max() < 1e-5 * logits.abs().max()
        assert (model(x[:, 25:26], state)[0] - logits[:, 25:26]).abs().max() < 1e-5 * logits.abs().max()


@pytest.mark.parametrize("size", SIZES)
def test_the_same_letters_are_written(size):
    their = theirs(size)
    model, prompt = MambaLM.from_huggingface(their.state_dict()), ids_for(their, 3, 4)
    written = their.generate(prompt, max_new_tokens=60, do_sample=False, attention_mask=torch.ones_like(prompt))
    assert torch.equal(sample(model, prompt, 60, top=1, generator=torch.Generator()), written)
    assert len(written.unique()) > 3


def test_arrays_that_make_no_model_are_named():
    arrays = theirs("usual").state_dict()
    with pytest.raises(ValueError, match=r"lm_head\.weight that is not the table"):
        MambaLM.from_huggingface(arrays | {"lm_head.weight": arrays["lm_head.weight"] + 1})
    with pytest.raises(ValueError, match=r"must hold 'embedding\.weight'"):
        MambaLM.from_huggingface({name: value for name, value in arrays.items() if "embeddings" not in name})
    with pytest.raises(ValueError, match=r"Unexpected key.*mixers\.0\.in_proj\.bias"):
        MambaLM.from_huggingface(arrays | {"backbone.layers.0.mixer.in_proj.bias": torch.zeros(64)})
