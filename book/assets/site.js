// The theme drops the keyboard's focus after its theme button was pressed; give it back. (detail 0: no mouse.)
document.addEventListener("click", (event) => {
  const button = event.target.closest(".theme-switch-button");
  if (button && event.detail === 0) setTimeout(() => button.focus());
});
