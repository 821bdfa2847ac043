"""XLNet's network with BERT's objective: the content stream alone, all of it in sight of everybody."""

import torch

from rtx_lib.models import Denoising, XLNet

V, T = 9, 5


def made():
    torch.manual_seed(0)
    return Denoising(XLNet(V, width=8, heads=2, layers=2)).double().eval()


def test_it_is_the_content_stream_with_the_readout():
    model, ids = made(), torch.randint(V, (2, T))
    y, state = model(ids)
    h, g, _ = model.model.encode(ids)
    assert g is None and state is None and torch.equal(y, model.model.readout(h)) and y.shape == (2, T, V)


def test_the_query_vector_is_not_trained():
    model = made()
    model(torch.arange(T)[None])[0].sin().sum().backward()
    assert model.model.w.grad is None and model.model.embedding.weight.grad is not None
