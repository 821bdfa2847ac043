"""Experiments: recipes, runs, records and sweeps. What a notebook may use stands here.

``python -m rtx_lib.experiments`` is the command line (:mod:`rtx_lib.experiments.__main__`).
"""

from rtx_lib.evidence.records import load_costs, load_record, load_records, load_trainer, results_folder
from rtx_lib.experiments.builders import MODELS, TASKS, build
from rtx_lib.experiments.own_lane import enter_race
from rtx_lib.experiments.raced import of_lengths, recorded, tried, winner
from rtx_lib.experiments.recipes import RECIPES, Recipe, recipe_of
from rtx_lib.experiments.runs import run
from rtx_lib.experiments.sweeps import SWEEPS, found
