// Keeps the theme that was chosen by the buttons of a served page.

function keepTheme() {
  const name = 'eval-harness-theme';
  try {
    const theme = localStorage.getItem(name);
    if (theme === 'dark' || theme === 'light') document.querySelector(`.theme-${theme}`).checked = true;
  } catch {
    // No memory.
  }
  document.querySelector('.themes').addEventListener('change', (event) => {
    const theme = event.target.className.replace('theme-', '');
    try {
      theme === 'system' ? localStorage.removeItem(name) : localStorage.setItem(name, theme);
    } catch {
      // Then it forgets.
    }
  });
}
