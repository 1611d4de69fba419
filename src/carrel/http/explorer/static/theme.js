// Before anything is drawn: light or dark, if somebody has said which.
try {
  const kept = localStorage.getItem("carrel-theme");
  if (kept) document.documentElement.dataset.theme = kept;
} catch { /* then as the system says */ }
