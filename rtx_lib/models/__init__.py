"""One paper, one file.

Every model runs under ``torch.compile``, ``torch.export``, ``torch.jit.trace`` and ``torch.func``, and its gradients
can be differentiated again, unless its docstring says that one of these does not go. An exported model takes any batch.
It takes any length too, unless a loop over steps, chunks or words was rolled out while it was recorded, as in recurrent
models.
"""

from rtx_lib.layers.arguments import keep_arguments

from .bert import BERT, BERTClassifier, BERTEncoder
from .bytenet import ByteNet
from .captioner import Captioner
from .context_rnn import ContextRNN
from .convs2s import ConvS2S
from .deep_indrnn import DenseIndRNN, ResidualIndRNN
from .deep_transition import DeepTransitionGRU
from .delta_net import DeltaNet, LinearAttention
from .dtmt import DTMT
from .elmo import BidirectionalLM, ProjectedLSTM, ScalarMix
from .glove import GloVe
from .gpt import GPT, GPTClassifier
from .griffin import RGLRU, GriffinBlock
from .indrnn import IndRNN, IndRNNLayer, PlainIndRNN
from .jordan import JordanRNN
from .lru import LRU
from .ltsf import DLinear, Linear, NLinear
from .mamba import Mamba, MambaLM, TimeInvariantMamba
from .mamba2 import Mamba2
from .memory_network import MemoryNetwork
from .min_rnn import MinGRU, MinLSTM
from .neural_gpu import NeuralGPU
from .patch_tst import Patched, PatchTST
from .plain_gpt import PlainGPT
from .qrnn import QRNN, QRNNLayer
from .r_transformer import LocalRNN, RTransformer
from .r_transformer_variants import ClonedRTransformer, PositionedRTransformer
from .retnet import MultiScaleRetention
from .rwkv import RWKVChannelMixing, RWKVTimeMixing
from .s4d import S4D
from .self_attention_classifier import SelfAttentionClassifier
from .seq2seq import Seq2Seq
from .tcn import TCN
from .topic_rnn import TopicRNN
from .transformer import CausalTransformer, Encoder, Transformer
from .transformer_xl import TransformerXL
from .transformer_xl_variants import AdaptiveTransformerXL, PositionedTransformerXL
from .word2vec import Word2Vec
from .xlnet import Denoising, TwoWayXLNet, XLNet, XLNetClassifier
from .xlstm import MLSTM, SLSTM

keep_arguments(list(vars().values()))  # so that save() can write them down, and load() make them again
