import numpy as np

from rtx_lib import GRU, Readout, TableTask, evaluate, fit

rows = np.genfromtxt("sensors.csv", delimiter=",", names=True, dtype=None, encoding="utf-8")
x = np.stack([rows["sway"], rows["hum"], rows["heat"]], axis=1)
task = TableTask(x, rows["state"], length=20, groups=rows["machine"])
model = Readout(GRU(task.input_size, 32), task)
fit(model, task, steps=300, batch_size=16, eval_every=50, keep_best="loss")
print(task.baselines())
print(evaluate(model, task, "test", batch_size=16))
