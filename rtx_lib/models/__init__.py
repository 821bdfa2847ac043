"""One paper, one file."""

from .deep_transition import DeepTransitionGRU
from .indrnn import IndRNN, IndRNNLayer, PlainIndRNN
from .jordan import JordanRNN
from .neural_gpu import NeuralGPU
from .plain_gpt import PlainGPT
from .r_transformer import LocalRNN, RTransformer
from .seq2seq import Seq2Seq
from .tcn import TCN
from .transformer import CausalTransformer, Encoder, Transformer
from .transformer_xl import TransformerXL
