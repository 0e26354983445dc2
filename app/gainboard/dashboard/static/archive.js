// Compares two runs of a release, from the scores in its page. A classic script: a page that is a file has no modules.
(function () {
  "use strict";
  var data = JSON.parse(document.getElementById("scores").textContent);
  var form = document.getElementById("choose");
  var out = document.getElementById("comparison");

  function fill(name, values, chosen) {
    values.forEach(function (value, number) {
      form.elements[name].add(new Option(value, value, number === chosen, number === chosen));
    });
  }

  function text(tag, content, kind) {
    var element = document.createElement(tag);
    element.textContent = content;
    if (kind) element.className = kind;
    return element;
  }

  function shown(value) {
    return value === null ? "–" : value.toFixed(4);
  }

  /** Returns the topics on which both runs have a score, each with its difference. */
  function differences(metric, first, second) {
    var rows = [];
    data.topics.forEach(function (topic, place) {
      var one = data.scores[metric][first][place];
      var other = data.scores[metric][second][place];
      if (one !== null && other !== null) rows.push({ topic: topic, one: one, other: other, difference: one - other });
    });
    return rows;
  }

  function sum(rows, of) {
    return rows.reduce(function (total, row) { return total + of(row); }, 0);
  }

  /** Returns what a paired t-test says of the mean difference. */
  function tested(rows) {
    var count = rows.length;
    var mean = sum(rows, function (row) { return row.difference; }) / count;
    var squares = sum(rows, function (row) { return Math.pow(row.difference - mean, 2); });
    var error = count > 1 ? Math.sqrt(squares / (count - 1) / count) : NaN;
    var half = count > 1 ? data.critical[count - 1] * error : NaN;
    return { mean: mean, low: mean - half, high: mean + half };
  }

  function verdict(found, first, second) {
    if (found.mean === 0) return "Both runs have the same mean.";
    var better = found.mean > 0 ? first : second;
    var is = found.low > 0 || found.high < 0 ? "significant" : "not significant";
    var ends = isNaN(found.low) ? "" : " (95 % interval " + shown(found.low) + " to " + shown(found.high) + ")";
    return better + " is ahead. The mean difference is " + shown(found.mean) + ends + ", which is " + is +
      " at 0.05 by a paired t-test of two runs that were chosen beforehand.";
  }

  function table(rows, first, second) {
    var element = text("table", "", "plain small");
    var head = element.createTHead().insertRow();
    ["Topic", first, second, "Difference"].forEach(function (title, place) {
      head.appendChild(text("th", title, place ? "num" : ""));
    });
    var body = element.createTBody();
    rows.slice().sort(function (a, b) { return a.difference - b.difference; }).forEach(function (row) {
      var line = body.insertRow();
      line.appendChild(text("th", row.topic));
      [row.one, row.other, row.difference].forEach(function (value) { line.appendChild(text("td", shown(value), "num")); });
    });
    return element;
  }

  function show() {
    var metric = form.elements.metric.value;
    var first = form.elements.first.value;
    var second = form.elements.second.value;
    var rows = differences(metric, first, second);
    out.replaceChildren();
    if (first === second || !rows.length) {
      out.appendChild(text("p", first === second ? "Choose two different runs." : "No topic has scores of both runs."));
      return;
    }
    var won = rows.filter(function (row) { return row.difference > 0; }).length;
    var lost = rows.filter(function (row) { return row.difference < 0; }).length;
    out.appendChild(text("p", verdict(tested(rows), first, second), "verdict"));
    out.appendChild(text("p", first + " wins " + won + " topics, loses " + lost + " and ties " + (rows.length - won - lost) + "."));
    out.appendChild(table(rows, first, second));
  }

  var runs = Object.keys(data.scores[data.metrics[0]]);
  fill("metric", data.metrics, 0);
  fill("first", runs, 0);
  fill("second", runs, 1);
  form.addEventListener("change", show);
  form.hidden = false;
  show();
})();
