// Two pieces of work in slices beside a timer: how far they came, and how often the timer was heard.
() => new Promise((done) => {
  let steps = 0, others = 0, ended = 0
  const wait = (ms) => { const until = performance.now() + ms; while (performance.now() < until); }
  const other = setInterval(() => others++, 0)
  const stop = RTX.slices(() => { ended++; return true }, () => { ended = -1000 })
  setTimeout(stop, 30)
  RTX.slices(() => { wait(3); return ++steps < 40 }, () => setTimeout(() => {
    clearInterval(other)
    done([steps, others, ended])
  }, 60))
})
