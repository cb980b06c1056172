/* Search for pages opened from disk, where a browser starts no worker: the theme loads search/search_index.js. */
(function () {
  "use strict";
  var field = document.querySelector("[data-md-component=search-query]");
  var list = document.querySelector(".md-search-result__list");
  if (location.protocol !== "file:" || !field || !list) return;
  window.__index = new Promise(function () {}); // what the theme would wait for
  var status = document.querySelector(".md-search-result__meta");
  var root = document.querySelector("link[rel=stylesheet]").href.replace(/assets\/.*$/, "");

  function scored(page, words) {
    var title = page.title.toLowerCase(), text = page.text.toLowerCase();
    return words.reduce(function (sum, word) {
      var here = (title.includes(word) ? 10 : 0) + Math.min(5, text.split(word).length - 1);
      return here && sum >= 0 ? sum + here : -1;
    }, 0);
  }

  function item(page, words) {
    var entry = document.createElement("li"), link = document.createElement("a"), article = document.createElement("article");
    var heading = document.createElement("h1"), excerpt = document.createElement("p"), plain = page.text.replace(/<[^>]*>/g, "");
    var start = Math.max(0, plain.toLowerCase().indexOf(words[0]) - 60);
    entry.className = "md-search-result__item";
    link.className = "md-search-result__link";
    article.className = "md-search-result__article md-typeset";
    link.href = root + page.location;
    heading.textContent = page.title.replace(/<[^>]*>/g, "") || page.location;
    excerpt.textContent = (start ? "… " : "") + plain.slice(start, start + 200) + " …";
    article.append(heading, excerpt);
    link.append(article);
    entry.append(link);
    return entry;
  }

  window.polymarginSearch = function (documents) {
    field.closest(".md-search").hidden = false; // the theme hides it where its worker cannot start
    field.addEventListener("input", function () {
      document.querySelector("[data-md-toggle=search]").checked = true; // shows the list
      var words = field.value.toLowerCase().split(/\s+/).filter(Boolean);
      var hits = !words.length ? [] : documents
        .map(function (page) { return { page: page, score: scored(page, words) }; })
        .filter(function (hit) { return hit.score > 0; })
        .sort(function (a, b) { return b.score - a.score; })
        .slice(0, 30);
      list.replaceChildren.apply(list, hits.map(function (hit) { return item(hit.page, words); }));
      if (status) status.textContent = words.length ? hits.length + " pages found" : "Type to start searching";
    });
  };
})();
