// Kron dashboard: what HTML cannot do by itself. Every page and every action works without it.
(() => {
  const root = document.documentElement;
  const one = (selector, within = document) => within.querySelector(selector);
  const all = (selector, within = document) => [...within.querySelectorAll(selector)];

  // Theme: that of the system, light or dark. The choice is kept in this browser.
  const stored = localStorage.getItem("kron.theme");
  if (stored) root.dataset.theme = stored;
  const isDark = () =>
    root.dataset.theme ? root.dataset.theme === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
  const themeButton = one("#theme");
  if (themeButton) {
    themeButton.hidden = false;
    themeButton.addEventListener("click", () => {
      root.dataset.theme = isDark() ? "light" : "dark";
      localStorage.setItem("kron.theme", root.dataset.theme);
    });
  }

  // Zone: the first visit takes that of the browser. The server formats all times.
  if (!/(^|; )kron_zone=/.test(document.cookie)) {
    const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
    document.cookie = `kron_zone=${encodeURIComponent(zone)}; path=/; max-age=31536000; SameSite=Lax`;
    if (zone !== root.dataset.zone && /(^|; )kron_zone=/.test(document.cookie)) location.reload();
  }

  // A time that is pointed at is shown in the zones of the viewer and the schedule, and in UTC.
  const format = (date, timeZone) =>
    new Intl.DateTimeFormat("en-GB", {
      timeZone, weekday: "short", day: "numeric", month: "short", year: "numeric",
      hour: "2-digit", minute: "2-digit", second: "2-digit", timeZoneName: "shortOffset",
    }).format(date);
  let hint = null;
  const hideHint = () => { hint?.remove(); hint = null; };
  const showHint = (event) => {
    const time = event.target.closest?.("time[datetime]");
    if (!time) return;
    hideHint();
    hint = Object.assign(document.createElement("div"), { className: "tip", role: "tooltip", id: "tip" });
    for (const [label, zone] of [["You", root.dataset.zone], ["Schedule", time.dataset.z], ["UTC", "UTC"]]) {
      if (!zone) continue;
      const name = document.createElement("b"), value = document.createElement("span");
      name.textContent = label === "UTC" ? label : `${label} · ${zone}`;
      value.textContent = format(new Date(time.dateTime), zone);
      hint.append(name, value);
    }
    document.body.append(hint);
    time.setAttribute("aria-describedby", "tip");
    time.removeAttribute("title");
    const place = time.getBoundingClientRect(), below = place.bottom + 8;
    hint.style.left = `${Math.max(8, Math.min(innerWidth - hint.offsetWidth - 8, place.left))}px`;
    hint.style.top = `${below + hint.offsetHeight > innerHeight ? place.top - hint.offsetHeight - 8 : below}px`;
  };
  for (const name of ["mouseover", "focusin"]) document.addEventListener(name, showHint);
  for (const name of ["mouseout", "focusout", "scroll"]) document.addEventListener(name, hideHint, true);

  // Relative times tick. They count from the server's time, so that a wrong clock of the browser does no harm.
  let ahead = Number(root.dataset.now) - performance.now(); // server's time minus that of this page
  const serverNow = () => ahead + performance.now();
  const duration = (s) => {
    if (s < 60) return `${s} s`;
    if (s < 3600) return `${Math.floor(s / 60)} min${s < 600 ? ` ${s % 60} s` : ""}`;
    if (s < 86400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
    return `${Math.floor(s / 86400)} d ${Math.floor((s % 86400) / 3600)} h`;
  };
  setInterval(() => {
    for (const time of all("time[data-relative]")) {
      const milliseconds = Date.parse(time.dateTime) - serverNow();
      time.textContent = milliseconds >= 0
        ? `in ${duration(Math.floor(milliseconds / 1000))}` : `${duration(Math.floor(-milliseconds / 1000))} ago`;
    }
  }, 1000);

  // Keys.
  const pages = { o: "", s: "schedules", r: "runs", l: "load", c: "calendar", a: "activity", t: "try" };
  let row = -1, isGoing = false;
  const rows = () => all("[data-row]");
  const moveTo = (number) => {
    const list = rows();
    if (!list.length) return;
    row = Math.max(0, Math.min(list.length - 1, number));
    list.forEach((each, index) => each.classList.toggle("cur", index === row));
    list[row].scrollIntoView({ block: "nearest" });
  };
  const actions = {
    "/": () => one("[data-find]")?.focus(),
    "?": () => { location.hash = "keys"; },
    j: () => moveTo(row + 1),
    k: () => moveTo(row - 1),
    x: () => { const box = row >= 0 && one("input[type=checkbox]", rows()[row]); if (box) box.click(); },
    Enter: () => { if (row >= 0) one("a", rows()[row])?.click(); },
  };
  document.addEventListener("keydown", (event) => {
    if (event.key === "Escape") {
      if (location.hash) location.hash = "_";
      document.activeElement?.blur();
      hideHint();
      return;
    }
    if (event.target.closest?.("input, textarea, select, button, a") && event.key === "Enter") return;
    if (event.target.matches?.("input:not([type=checkbox]), textarea, select") || event.metaKey || event.ctrlKey || event.altKey) return;
    if (isGoing && event.key in pages) { location.href = one("body").dataset.root + pages[event.key]; return; }
    isGoing = event.key === "g";
    if (event.key in actions) { if (event.key === "/") event.preventDefault(); actions[event.key](); }
  });

  // Selection of rows.
  const showSelection = () => {
    const bar = one(".bulk");
    if (!bar || "all" in bar.dataset) return;
    const count = all("tbody input[type=checkbox]:checked").length;
    bar.hidden = !count;
    one("b", bar).textContent = `${count} selected`;
    for (const line of all("tbody tr")) {
      const box = one("input[type=checkbox]", line);
      if (box) line.setAttribute("aria-selected", box.checked);
    }
  };
  document.addEventListener("change", (event) => {
    if (event.target.id === "all") for (const box of all("tbody input[type=checkbox]")) box.checked = event.target.checked;
    if (event.target.type === "checkbox") showSelection();
  });
  showSelection();

  // Live: the server tells that something has changed, and the page loads its main part again. A hidden page and a page
  // whose form is being filled in stay as they are.
  const isBusy = () => document.hidden || one("main :is([data-still], tbody :checked)") || document.activeElement?.matches("main :is(input, textarea, select)");
  let loadedAt = performance.now(), isLive = false, isStale = false, isLoading = false;
  const showLive = () => {
    const live = one("#live");
    if (!live) return;
    const seconds = Math.floor((performance.now() - loadedAt) / 1000);
    live.className = isLive ? "live" : "live off";
    live.replaceChildren(document.createElement("i"), isLive ? "Live" : `Not live, ${duration(seconds)}`);
  };
  const show = (main) => {
    one("main").replaceWith(main);
    if (row >= 0) moveTo(row);
    showSelection();
  };
  // A list that is read from its top holds new lines back, so that nothing moves under the reader.
  const newLineCount = (main) => {
    if (!one("main [data-hold]")) return 0;
    const known = new Set(rows().map((line) => line.textContent));
    const lines = all("[data-hold] [data-row]", main), first = lines.findIndex((line) => known.has(line.textContent));
    return first < 0 ? lines.length : first;
  };
  const hold = (main, count) => {
    one("#held")?.remove();
    const note = Object.assign(document.createElement("div"), { className: "note mb", id: "held" });
    const words = document.createElement("div"), button = document.createElement("button");
    Object.assign(button, { className: "link", type: "button", textContent: "Show them" });
    button.addEventListener("click", () => show(main));
    words.setAttribute("role", "status");
    words.append(`${count} new. `, button);
    note.append(words);
    one("main [data-hold]").before(note);
  };
  const refresh = async () => {
    isStale = true;
    if (isBusy() || isLoading) return;
    isLoading = true;
    try {
      const response = await fetch(location.href, { headers: { accept: "text/html" } });
      if (!response.ok) throw new Error(response.statusText);
      const text = await response.text(), page = new DOMParser().parseFromString(text, "text/html");
      const main = page.querySelector("main");
      if (main && !isBusy()) {
        const count = newLineCount(main);
        if (count) hold(main, count);
        else show(main);
        ahead = Number(page.documentElement.dataset.now) - performance.now();
        isStale = false;
        loadedAt = performance.now();
      }
    } catch { isLive = false; }
    isLoading = false;
    showLive();
  };
  const setLive = (now) => { isLive = now; showLive(); };
  // A stream that is refused, because too many are open, is tried again after some questions.
  let position = one("body").dataset.position ?? ""; // where the server's events were when it read the page
  const listen = (address) => {
    const url = new URL(address, location.href);
    url.searchParams.set("after", position);
    const source = new EventSource(url);
    let isRefused = true;
    source.addEventListener("live", () => { isRefused = false; setLive(true); if (performance.now() - loadedAt > 3000) refresh(); });
    source.addEventListener("changed", refresh);
    source.addEventListener("error", () => {
      setLive(false);
      if (source.readyState !== EventSource.CLOSED) return;
      if (isRefused) ask(address.replace(/\/stream(?=\?|$)/, "/changes"), 30, () => listen(address));
      else setTimeout(() => listen(address), 3000);
    });
  };
  const ask = async (address, count = Infinity, then = null) => {
    const url = new URL(address, location.href);
    url.searchParams.set("after", position);
    try {
      const answer = await (await fetch(url)).json();
      position = String(answer.position);
      if (!isLive && performance.now() - loadedAt > 3000) refresh();
      setLive(true);
      if (answer.changed) refresh();
    } catch { setLive(false); }
    setTimeout(() => (count > 1 ? ask(address, count - 1, then) : then()), document.hidden ? 10_000 : 1000);
  };
  const live = one("body").dataset.live;
  if (live) {
    (live.includes("/stream") ? listen : ask)(live);
    document.addEventListener("visibilitychange", () => { if (!document.hidden && isStale) refresh(); });
    // A worker that dies says nothing: a page that shows workers is loaded again after some seconds.
    const isOld = () => performance.now() - loadedAt > 1000 * (one("main [data-fresh]")?.dataset.fresh ?? Infinity);
    setInterval(() => { showLive(); if (isStale || isOld()) refresh(); }, 1000);
  }

  // Copy.
  document.addEventListener("click", async (event) => {
    const button = event.target.closest?.("[data-copy]");
    if (!button) return;
    await navigator.clipboard?.writeText(one(".code", button.parentElement).textContent);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
})();
