"""Experiments: recipes, runs, records and sweeps. What a notebook may use stands here.

``python -m rtx_book`` is the command line (:mod:`rtx_book.__main__`).
"""

from rtx_book.paths import results_folder
from rtx_book.records.records import load_costs, load_records, load_trainer
from rtx_book.runs.builders import MODELS, TASKS, build
from rtx_book.runs.own_lane import enter_race
from rtx_book.runs.raced import of_lengths, recorded, tried, winner
from rtx_book.runs.recipes import RECIPES, Recipe, recipe_of
from rtx_book.runs.runs import run
from rtx_book.runs.sweeps import SWEEPS, found
