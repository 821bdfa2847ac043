// Tables for search.js.
{
  const SIGNS = {}
  const signs = 'infty ∞ to → leftarrow ← rightarrow → le ≤ leq ≤ ge ≥ geq ≥ ne ≠ neq ≠ approx ≈ times × cdot · cdots … dots … ldots … ' +
    'odot ⊙ otimes ⊗ oplus ⊕ in ∈ sum ∑ prod ∏ partial ∂ sqrt √ top ᵀ pm ± sim ~ ell ℓ nabla ∇ mid | lVert ‖ rVert ‖ Vert ‖ prime ′ ' +
    'alpha α beta β gamma γ delta δ epsilon ε varepsilon ε zeta ζ eta η theta θ kappa κ lambda λ mu μ nu ν xi ξ pi π rho ρ sigma σ tau τ ' +
    'phi φ varphi φ chi χ psi ψ omega ω Delta Δ Gamma Γ Lambda Λ Sigma Σ Phi Φ Psi Ψ Omega Ω Theta Θ Pi Π'
  signs.split(' ').forEach((sign, place, all) => place % 2 && (SIGNS[all[place - 1]] = sign))
  // What a reader may type for words of the book.
  const ALIASES = {
    bpe: 'byte pair', bptt: 'backpropagation through time', kv: 'key value', mlm: 'BERT', rope: 'rotary',
    ssm: 'state space model', xl: 'transformer-xl',
  }
  // The index that an author would write: words for a chapter which it does not use itself, or others as often.
  const MEANT = {
    'notebooks/attention': ['beam search', 'image captions'],
    'notebooks/positions': ['positional encoding'],
    'notebooks/pretraining': ['masked language model'],
    'notebooks/recurrence_returns': ['parity', 'delta rule'],
    'notebooks/state_space': ['selective scan'],
  }
  window.SEARCH_WORDS = {SIGNS, ALIASES, MEANT}
}
