// Rules for the scripts of the pages: book/rtx_book/**/*.js and book/assets/*.js, classic scripts all of them.
// It imports nothing, so that it works from wherever ESLint is installed.
const browser = [
  'AudioContext', 'Blob', 'DOMException', 'Event', 'HTMLElement', 'Intl', 'IntersectionObserver', 'MessageChannel', 'MouseEvent',
  'MutationObserver',
  'ResizeObserver', 'SVGElement', 'TextDecoder', 'TextEncoder', 'URL', 'Worker', 'atob', 'btoa', 'cancelAnimationFrame',
  'clearInterval', 'clearTimeout', 'console', 'document', 'getComputedStyle', 'getSelection', 'history', 'localStorage', 'location',
  'matchMedia', 'navigator', 'performance', 'postMessage', 'queueMicrotask', 'requestAnimationFrame', 'sessionStorage',
  'setInterval', 'setTimeout', 'structuredClone', 'window', 'addEventListener', 'removeEventListener',
]
const globals = Object.fromEntries([...browser, 'RTX'].map((name) => [name, 'readonly']))

// What is wrong, or reads as if it were.
const faults = [
  'array-callback-return', 'constructor-super', 'for-direction', 'getter-return', 'no-alert',
  'no-array-constructor', 'no-async-promise-executor', 'no-caller', 'no-class-assign', 'no-compare-neg-zero',
  'no-const-assign', 'no-constant-binary-expression', 'no-constant-condition', 'no-constructor-return', 'no-control-regex',
  'no-debugger', 'no-delete-var', 'no-dupe-args', 'no-dupe-class-members', 'no-dupe-else-if', 'no-dupe-keys',
  'no-duplicate-case', 'no-empty-character-class', 'no-empty-pattern', 'no-eval', 'no-ex-assign', 'no-extend-native',
  'no-fallthrough', 'no-func-assign', 'no-global-assign', 'no-implied-eval', 'no-invalid-regexp', 'no-irregular-whitespace',
  'no-iterator', 'no-loss-of-precision', 'no-misleading-character-class', 'no-new-func', 'no-new-wrappers', 'no-obj-calls',
  'no-octal', 'no-proto', 'no-redeclare', 'no-regex-spaces', 'no-script-url', 'no-self-assign',
  'no-self-compare', 'no-shadow-restricted-names', 'no-sparse-arrays', 'no-template-curly-in-string', 'no-this-before-super',
  'no-throw-literal', 'no-undef', 'no-unexpected-multiline', 'no-unmodified-loop-condition', 'no-unreachable',
  'no-unsafe-finally', 'no-unsafe-negation', 'no-unsafe-optional-chaining', 'no-unused-labels', 'no-unused-private-class-members',
  'no-useless-catch', 'no-useless-escape', 'no-var', 'no-with', 'prefer-const', 'require-yield', 'use-isnan', 'valid-typeof',
]

export default [
  {
    files: ['**/*.js'],
    languageOptions: {ecmaVersion: 2022, sourceType: 'script', globals},
    linterOptions: {reportUnusedDisableDirectives: 'error'},
    rules: {
      ...Object.fromEntries(faults.map((name) => [name, 'error'])),
      'eqeqeq': ['error', 'always', {null: 'ignore'}],
      'max-len': ['error', {code: 140}],
      'max-lines': ['error', {max: 220}],
      'no-restricted-globals': ['error', 'event', 'name', 'status', 'parent', 'top', 'length', 'origin'],
      'no-unused-vars': ['error', {args: 'after-used', caughtErrors: 'none', destructuredArrayIgnorePattern: '^_', varsIgnorePattern: '^_'}],
      'prefer-const': ['error', {destructuring: 'all'}],
    },
  },
]
