// A box above each long table that shows only the rows which contain what is typed.
document.addEventListener("DOMContentLoaded", () => {
  for (const table of document.querySelectorAll(".md-typeset table")) {
    const rows = [...table.querySelectorAll("tbody tr")];
    if (rows.length < 25) continue;
    const texts = rows.map((row) => row.textContent.toLowerCase());
    const box = document.createElement("input");
    box.className = "filter";
    box.type = "search";
    box.placeholder = `Filter ${rows.length} rows`;
    box.setAttribute("aria-label", box.placeholder);
    box.addEventListener("input", () => {
      const wanted = box.value.trim().toLowerCase();
      rows.forEach((row, k) => (row.hidden = !texts[k].includes(wanted)));
    });
    (table.closest(".md-typeset__scrollwrap") || table).before(box);
  }
});
