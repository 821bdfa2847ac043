from rtx_lib import LSTM, Readout, TextTask, evaluate, fit, generate

task = TextTask("mine.txt", length=64)
model = Readout(LSTM(task.vocabulary, 128), task)
fit(model, task, steps=500, batch_size=32, lr=5e-3)
print(task.baselines())
print(evaluate(model, task, "test", batch_size=32))
print(generate(model, task, "The ", 200, temperature=0.7))
