// As much of a browser as the status page uses, for the duktape interpreter. The page's script follows this file, and ask() is
// called for it by run(): each answer in `answers` is one response of /sessions.
var ids = {}, timers = [], answers = [], asked = [];
function Node(tag) {
  this.tag = tag;
  this.children = [];
  this.attributes = {};
  this.style = {};
  this.own = "";
}
Node.prototype = {
  get textContent() {
    var text = this.own;
    for (var i = 0; i < this.children.length; i++) text += (i ? "|" : "") + this.children[i].textContent;
    return text;
  },
  set textContent(v) { this.children = []; this.own = String(v); },
  set innerHTML(v) { throw new Error("markup was set from a string"); },
  get firstChild() { return this.children[0]; },
  appendChild: function (c) { this.children.push(c); return c; },
  removeChild: function (c) { this.children.splice(this.children.indexOf(c), 1); },
  setAttribute: function (k, v) { this.attributes[k] = v; }
};
var document = {
  getElementById: function (id) {
    if (!ids[id]) throw new Error("the page has no element " + id);
    return ids[id];
  },
  createElement: function (tag) { return new Node(tag); },
  createTextNode: function (text) { var n = new Node("#text"); n.own = text; return n; }
};
function setTimeout(f, ms) { timers.push(f); }
function XMLHttpRequest() {}
XMLHttpRequest.prototype = {
  open: function (method, path) { asked.push(method + " " + path); },
  send: function () {
    var a = answers.shift();
    if (a === undefined) return;
    if (a === null) return this.onerror();
    this.status = a.status;
    this.responseText = a.body;
    this.onload();
  }
};
var location = {host: "reducer-0:4001"};
