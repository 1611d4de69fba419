// Several proposals decided at once: what is ticked becomes the numbers that both buttons send.
const boxes = [...document.querySelectorAll("[data-choose]")];
const bulk = document.getElementById("bulk");

function tell() {
  const chosen = boxes.filter((box) => box.checked).map((box) => box.value);
  for (const field of bulk.querySelectorAll("[name=numbers]")) field.value = chosen.join(",");
  for (const button of bulk.querySelectorAll("button")) button.disabled = chosen.length === 0;
  document.getElementById("chosen").textContent = chosen.length ? `${chosen.length} chosen` : "None chosen";
  const every = document.getElementById("every");
  every.checked = chosen.length > 0 && chosen.length === boxes.length;
  every.indeterminate = chosen.length > 0 && chosen.length < boxes.length;
}

if (bulk) {
  document.addEventListener("change", (event) => { if ("choose" in event.target.dataset) tell(); });
  document.getElementById("every").addEventListener("change", (event) => {
    for (const box of boxes) box.checked = event.target.checked;
    tell();
  });
  tell();
}
