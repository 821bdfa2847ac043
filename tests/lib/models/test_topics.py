"""The context-dependent RNN and TopicRNN by second routes; what the contract asks is in test_contract.py."""

import math

import pytest
import torch
from support.compare import generator, random_parameters
from support.helpers import drawn, relative_error

from rtx_lib.models.context_rnn import ContextRNN
from rtx_lib.models.topic_rnn import TopicRNN, kl

pytestmark = pytest.mark.usefixtures("double")

V, K, H, W = 9, 4, 5, 3
STOP = [0, 2, 5]
X = torch.randint(V, (3, 8), generator=generator())
Y = torch.randint(V, (3, 8), generator=generator(1))
TOPICS = torch.rand(V, K, generator=generator(2), dtype=torch.float64).softmax(-1)


@pytest.fixture
def told():
    return drawn(0, ContextRNN, V, K, H, decay=0.8).tell_(TOPICS)


@pytest.fixture
def topic():
    return random_parameters(drawn(0, TopicRNN, V, STOP, K, H, window=W, inference_size=6).eval())


# ---- Mikolov and Zweig


def test_the_context_is_the_products_of_powers_that_the_paper_writes(told):
    """c_t = prod_i t_(w at t - i)^((1 - gamma) gamma^i) / Z, the recurrence unrolled."""
    c, _ = told.context(X, torch.zeros(3, K))
    for t in range(8):
        powers = [TOPICS[X[:, t - i]] ** (0.2 * 0.8**i) for i in range(t + 1)]
        product = torch.stack(powers).prod(0)
        assert relative_error(c[:, t], product / product.sum(-1, keepdim=True)) < 1e-12


def test_steps_by_the_equations(told):
    w, v = told.core, told.readout.weight
    s, c = torch.zeros(3, H), torch.full((3, K), 1 / K)
    for t, y in enumerate(told(X)[0].unbind(1)):
        c = c**0.8 * TOPICS[X[:, t]] ** 0.2
        c = c / c.sum(-1, keepdim=True)
        u, f = w.weight_ih_l0.split([H, K], 1)
        s = torch.tanh(told.embedding(X[:, t]) @ u.T + s @ w.weight_hh_l0.T + K * c @ f.T + w.bias_ih_l0 + w.bias_hh_l0)
        assert relative_error(y, s @ v[:, :H].T + K * c @ v[:, H:].T + told.readout.bias) < 1e-12


def test_untold_it_is_an_rnn_with_one_more_bias():
    model = drawn(0, ContextRNN, V, K, H)
    assert torch.allclose(model.context(X, torch.zeros(3, K))[0], torch.full((1,), 1 / K))
    with pytest.raises(ValueError, match="word_topics"):
        model.tell_(TOPICS[:-1])


# ---- TopicRNN


def predicted(model, theta_of):
    """log p by the explicit sum over the switch, where `theta_of(words so far)` is one sequence's topic."""
    rows = []
    for b in range(len(X)):
        h, _ = model.core(model.embedding(X[b : b + 1]))
        for t in range(X.shape[1]):
            theta, p = theta_of(X[b, : t + 1]), 0
            for stop in (0, 1):
                logits = model.readout(h[0, t]) + (1 - stop) * model.topic_words.weight @ theta
                share = torch.sigmoid(model.switch(h[0, t]))
                p = p + (share if stop else 1 - share) * logits.softmax(-1)
            rows.append(p.log())
    return torch.stack(rows).view(*X.shape, V)


def bag_mean(model, words):
    """mu of the counts X_c, by the inference network as the paper writes it."""
    counts = torch.zeros(V)
    for word in words.tolist():
        counts[word] += word not in STOP
    return model.mean(model.inference(model.counts(counts)))


def test_the_mixture_equals_the_explicit_sum(topic):
    y, _ = topic(X)
    assert relative_error(y, predicted(topic, lambda words: bag_mean(topic, words[-W:]))) < 1e-12
    assert relative_error(y.exp().sum(-1), torch.ones(3, 8)) < 1e-12


def test_the_topic_never_sees_the_word_that_it_predicts(topic):
    """Nor what left the window; and a stop word moves h, but not theta."""
    _, words, _ = topic._run(X, None)
    for t in range(8):
        moved = X.clone()
        moved[:, t] = (X[:, t] + 1) % V
        same = (topic(moved)[0] == topic(X)[0]).all(-1).all(0)
        assert same[:t].all() and not same[t]
    assert not topic.counted(words)[topic.stop[words]].any()


def test_the_divergence_is_the_closed_form_of_torch():
    mean, log_std = torch.randn(2, 7, K, generator=generator(4)).unbind(0)
    q = torch.distributions.Independent(torch.distributions.Normal(mean, log_std.exp()), 1)
    prior = torch.distributions.Independent(torch.distributions.Normal(torch.zeros(K), torch.ones(K)), 1)
    assert relative_error(kl(mean, log_std), torch.distributions.kl_divergence(q, prior)) < 1e-12


def explicit_elbo(model, theta, mean, log_std):
    """(B,): the sums that section 3 writes, with one draw of theta."""
    h, _ = model.core(model.embedding(X))
    total = torch.distributions.Normal(0, 1).log_prob(theta).sum(-1)
    total = total - torch.distributions.Normal(mean, log_std.exp()).log_prob(theta).sum(-1)
    for t in range(8):
        stop = model.stop[Y[:, t]].double()[:, None]
        p = (model.readout(h[:, t]) + (1 - stop) * model.topic_words(theta)).log_softmax(-1)
        share = torch.sigmoid(model.switch(h[:, t]))
        total = total + (p.gather(1, Y[:, t : t + 1]) + (share * stop + (1 - share) * (1 - stop)).log())[:, 0]
    return total


def test_the_terms_with_theta_at_its_mean_are_exact(topic):
    terms, _ = topic.elbo(X, Y)
    _, mean, log_std = topic.posterior(topic.counted(Y).sum(1))
    said = explicit_elbo(topic, mean, mean, log_std)
    said = said - torch.distributions.Normal(0, 1).log_prob(mean).sum(-1)
    said = said + torch.distributions.Normal(mean, log_std.exp()).log_prob(mean).sum(-1) - kl(mean, log_std)
    assert relative_error(terms.sum(1), said) < 1e-12
    with pytest.raises(ValueError, match="y must hold ids from 0 to"):
        topic.elbo(X, Y + 99)


def test_gradients_of_the_elbo_reach_every_weight(topic):
    topic.train()
    torch.manual_seed(0)
    (-topic((X, Y))[0].mean()).backward()
    assert all(p.grad is not None and p.grad.any() for p in topic.parameters())
    slope = topic.log_std.bias.grad[0].item()

    def loss(step):
        torch.manual_seed(0)
        with torch.no_grad():
            topic.log_std.bias[0] += step
            found = -topic((X, Y))[0].mean().item()
            topic.log_std.bias[0] -= step
        return found

    assert math.isclose((loss(1e-5) - loss(-1e-5)) / 2e-5, slope, rel_tol=1e-6, abs_tol=1e-9)
