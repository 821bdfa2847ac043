// Binary addition as rtx_lib.tasks.BinaryAddition asks it: a symbol holds both digits of a place, the lowest place first.
RTX.part('addition', (RTX) => {
  const MOST = 2 ** 32 - 1
  const bits = (number) => number ? Math.floor(Math.log2(number)) + 1 : 1  // how many binary digits it has
  const toDigits = (number, n) => Array.from({length: n}, (_, i) => Math.floor(number / 2 ** i) % 2)
  const fromDigits = (digits) => digits.reduce((sum, digit, i) => sum + digit * 2 ** i, 0)

  // What was typed as {value}; or {fault}, why it cannot be added here. Spaces may part its digits, and commas its thousands.
  function whole(text) {
    const plain = text.replace(/[\s_]/g, ''), typed = /^\d{1,3}(,\d{3})+$/.test(plain) ? plain.replaceAll(',', '') : plain
    if (!typed) return {fault: 'is missing'}
    if (/^[-\u2212]\d+$/.test(typed)) return {fault: 'is negative'}
    if (!/^[0-9]+$/.test(typed)) return {fault: 'is not a whole number'}
    return Number(typed) > MOST ? {fault: 'has more than 32 bits'} : {value: Number(typed)}
  }
  // All about a + b, place by place: n places, one more than the longer number has; the carry into each; the digits of
  // the sum; the ids that the network reads; and far, through how many places (0 + 1 or 1 + 0) one carry passes at most
  function addition(a, b) {
    const n = Math.max(bits(a), bits(b)) + 1, first = toDigits(a, n), second = toDigits(b, n), carries = [0]
    let far = 0, way = 0
    for (let i = 0; i + 1 < n; i++) {
      const digits = first[i] + second[i]
      carries.push(digits + carries[i] > 1 ? 1 : 0)
      way = digits < 2 && carries[i + 1] ? way + 1 : 0
      far = Math.max(far, way)
    }
    const ids = first.map((digit, i) => 1 + digit + 2 * second[i])
    return {n, first, second, carries, digits: toDigits(a + b, n), ids, far}
  }
  Object.assign(RTX, {bits, fromDigits, whole, addition})
})
