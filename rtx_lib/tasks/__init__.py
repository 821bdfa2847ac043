"""Tasks: data with a loss, a metric and a baseline (see `rtx_lib.tasks.protocol.Task`)."""

from rtx_lib.tasks.adding import AddingProblem
from rtx_lib.tasks.copying import CopyMemory
from rtx_lib.tasks.digits import SequentialDigits
from rtx_lib.tasks.enwik8 import Enwik8
from rtx_lib.tasks.files import available, fetch
from rtx_lib.tasks.lag import Lag
from rtx_lib.tasks.mnist import MNIST
from rtx_lib.tasks.music import PolyphonicMusic
from rtx_lib.tasks.number_words import NumberWords
from rtx_lib.tasks.permutations import WindowOrder
from rtx_lib.tasks.protocol import StreamTask, Task
from rtx_lib.tasks.ptb import PennTreebank
from rtx_lib.tasks.text import CharacterText
