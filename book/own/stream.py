from rtx_lib import GRU, Readout, TextTask, evaluate, fit, generate

task = TextTask("log.txt", length=32, level="word")
model = Readout(GRU(task.vocabulary, 32), task)
fit(model, task, steps=400, batch_size=16, stream_length=32)
print(task.baselines())
print(evaluate(model, task, "test", batch_size=4, stream_length=32))
print(generate(model, task, "dark enter enter leave", 12))
