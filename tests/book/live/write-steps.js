// What is left to read, and what was read, of texts that grow and change.
({weights, characters}) => {
  const reading = new RTX.Reading(RTX.character(matrices(weights)), characters), told = []
  for (const text of ['abc', 'abcd', 'abXcd', 'abc', '', 'a\ufffdb']) {
    const left = reading.begin(text)
    while (reading.step());
    told.push([left, reading.rows.length, reading.rows.map(({c}) => c).join('')])
  }
  return told
}
