/* Search for pages opened from disk, where a browser lets no script fetch the index: there it comes as a script. */
(function () {
  "use strict";
  var place = document.getElementById("mkdocs-search-results");
  if (location.protocol !== "file:" || !place) return;
  var query = new URLSearchParams(location.search).get("q") || "";
  var field = document.getElementById("mkdocs-search-query");
  if (field) field.value = query;

  function show(documents) {
    var words = query.toLowerCase().split(/\s+/).filter(Boolean);
    var found = documents.map(function (page) {
      var title = page.title.toLowerCase(), text = page.text.toLowerCase();
      var score = words.length ? words.reduce(function (sum, word) {
        var here = (title.includes(word) ? 10 : 0) + Math.min(5, text.split(word).length - 1);
        return here && sum >= 0 ? sum + here : -1;
      }, 0) : -1;
      return { page: page, score: score, at: words.length ? text.indexOf(words[0]) : -1 };
    }).filter(function (hit) { return hit.score > 0; });
    found.sort(function (a, b) { return b.score - a.score; });
    place.textContent = found.length ? "" : "Nothing found for “" + query + "”.";
    found.slice(0, 40).forEach(function (hit) {
      var article = document.createElement("article"), heading = document.createElement("h3");
      var link = document.createElement("a"), excerpt = document.createElement("p");
      link.href = hit.page.location;
      link.textContent = hit.page.title || hit.page.location;
      var start = Math.max(0, hit.at - 80);
      excerpt.textContent = (start ? "… " : "") + hit.page.text.slice(start, start + 240) + " …";
      heading.appendChild(link);
      article.append(heading, excerpt);
      place.appendChild(article);
    });
  }

  window.polymarginSearch = show;
  var index = document.createElement("script");
  index.src = "search/search_index.js";
  document.body.appendChild(index);
})();
