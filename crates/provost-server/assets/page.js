// The code of a one-time link stands in the fragment, which no request carries: it is put into
// the form, taken out of the address, and sent only when the button is pressed.
const field = document.querySelector("#link-form #code");
if (field instanceof HTMLInputElement && location.hash.length > 1) {
  field.value = decodeURIComponent(location.hash.slice(1));
  history.replaceState(null, "", location.pathname);
}
