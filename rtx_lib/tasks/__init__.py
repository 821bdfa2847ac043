"""Tasks: data with a loss, a metric and a baseline (see `rtx_lib.tasks.protocol.Task`)."""

from rtx_lib.tasks.atlas import Atlas
from rtx_lib.tasks.binary_addition import BinaryAddition
from rtx_lib.tasks.byte_pairs import BytePairs, GPTPieces
from rtx_lib.tasks.digits import MNIST, DrawnDigits, SequentialDigits
from rtx_lib.tasks.files import available, fetch, files_of
from rtx_lib.tasks.generated import AddingProblem, CopyMemory, Lag, WindowOrder
from rtx_lib.tasks.instructions import Instructions
from rtx_lib.tasks.masked_text import BothWaysText, CausalText, MaskedText
from rtx_lib.tasks.music import PolyphonicMusic
from rtx_lib.tasks.next_symbol import LookUp, NextSymbol
from rtx_lib.tasks.number_words import NumberWords
from rtx_lib.tasks.on_off import OnOff
from rtx_lib.tasks.pairs import WordPairs
from rtx_lib.tasks.protocol import Task
from rtx_lib.tasks.recall import AssociativeRecall, SelectiveCopying
from rtx_lib.tasks.scenes import Scenes
from rtx_lib.tasks.sentence_classes import SentenceClasses
from rtx_lib.tasks.sentence_pairs import SentencePairs
from rtx_lib.tasks.sentiment import GeneratedSentiment, Sentiment
from rtx_lib.tasks.series import ETT, SeriesTask
from rtx_lib.tasks.skipgram import SkipGrams
from rtx_lib.tasks.state_tracking import GroupWords, Parity
from rtx_lib.tasks.stories import Stories
from rtx_lib.tasks.table import TableTask
from rtx_lib.tasks.tagging import PartsOfSpeech, WordSense
from rtx_lib.tasks.text_task import TextTask
from rtx_lib.tasks.texts import CharacterText, PennTreebank
from rtx_lib.tasks.topics import TopicText
