// Figures are wider than a phone: a click opens the picture in its own size.
document.addEventListener("DOMContentLoaded", () => {
  for (const image of document.querySelectorAll("article img:not(.formula)")) {
    if (image.closest("a")) continue;
    image.classList.add("zoomable");
    image.title = "open in full size";
    image.addEventListener("click", () => { window.location.href = image.src; });
  }
});
