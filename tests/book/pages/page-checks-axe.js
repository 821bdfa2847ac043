// What axe-core finds serious. Lines of pictures are thousands of elements, of which it asks nothing; what tells a
// picture's meaning stays. Of a long table it sees the first rows: the others are made alike.
async ([colours, kinds]) => {
  const found = []
  const run = async (context, options) =>
    found.push(...(await axe.run(context, {resultTypes: ['violations'], preload: false, ...options})).violations)
  document.querySelectorAll('tbody tr:nth-child(n+5)').forEach(e => e.remove())
  if (kinds !== 'rest') await run(document, {runOnly: {type: 'rule', values: colours}})
  if (kinds !== 'colours') {
    document.querySelectorAll('svg :is(path, use, defs, line, circle, clipPath)').forEach(e => e.remove())
    await run(document, {rules: Object.fromEntries(colours.map(rule => [rule, {enabled: false}]))})
  }
  return found.filter(v => ['serious', 'critical'].includes(v.impact)).map(v =>
    `${v.impact} ${v.id}: ${v.help}: ` + v.nodes.slice(0, 3).map(n => n.target.join(' ')).join(' | '))
}
