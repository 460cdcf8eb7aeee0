// One picture, drawn with the page's own fonts; readable on light and dark pages, since it brings its background.
#include <algorithm>
#include <cmath>

#include "topology/cli/plan.h"
#include "topology/cli/text.h"
#include "topology/rate.h"

namespace fanin::topo {
namespace {

constexpr double kLeft = 78, kRight = 700, kTop = 64, kBottom = 356;

class Chart {
 public:
  Chart(double most_reducers, double most_rate) : most_x_(most_reducers), most_y_(most_rate) {}
  double x(double reducers) const { return kLeft + (kRight - kLeft) * reducers / most_x_; }
  double y(double rate) const { return kBottom - (kBottom - kTop) * rate / most_y_; }

  void line(double x1, double y1, double x2, double y2, const char* style) {
    out_ += format("<line x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" %s/>\n", x1, y1, x2, y2, style);
  }
  void text(double at_x, double at_y, const char* style, const std::string& words) {
    out_ += format("<text x=\"%.1f\" y=\"%.1f\" %s>%s</text>\n", at_x, at_y, style, words.c_str());
  }
  template <class Rate>
  void curve(const PlanAnswer& a, double from, Rate rate, const char* style) {
    out_ += "<polyline fill=\"none\" points=\"" + format("%.1f,%.1f", x(0), y(from));
    for (const PlanPoint& p : a.points) out_ += format(" %.1f,%.1f", x(p.reducers), y(rate(p)));
    out_ += format("\" %s/>\n", style);
  }
  void raw(const std::string& s) { out_ += s; }
  const std::string& svg() const { return out_; }

 private:
  double most_x_, most_y_;
  std::string out_;
};

// 1, 2 or 5 times a power of ten, at most about so many of them.
double tick_of(double most, double count) {
  const double rough = most / count, power = std::pow(10, std::floor(std::log10(rough)));
  for (double m : {1.0, 2.0, 5.0})
    if (rough <= m * power) return m * power;
  return 10 * power;
}

void axes(Chart& c, double most_x, double most_y) {
  const char* grid = "stroke=\"#e3e6ea\"";
  const double step_y = tick_of(most_y, 6), step_x = std::max(1.0, tick_of(most_x, 12));
  for (double v = 0; v <= most_y * 1.0001; v += step_y) {
    c.line(kLeft, c.y(v), kRight, c.y(v), grid);
    c.text(kLeft - 8, c.y(v) + 4, "text-anchor=\"end\"", v == 0 ? "0" : rate_text(v));
  }
  for (double k = 0; k <= most_x * 1.0001; k += step_x) {
    c.line(c.x(k), kBottom, c.x(k), kBottom + 4, "stroke=\"#555\"");
    c.text(c.x(k), kBottom + 18, "text-anchor=\"middle\"", format("%.0f", k));
  }
  c.line(kLeft, kBottom, kRight, kBottom, "stroke=\"#555\"");
  c.text((kLeft + kRight) / 2, kBottom + 38, "text-anchor=\"middle\"", "reducers");
}

void mark(Chart& c, const PlanPoint& p, const char* colour, const std::string& words, double below) {
  c.raw(format("<circle cx=\"%.1f\" cy=\"%.1f\" r=\"4.5\" fill=\"%s\"/>\n", c.x(p.reducers), c.y(p.rate),
               colour));
  const bool right = c.x(p.reducers) > kRight - 150;
  c.text(c.x(p.reducers) + (right ? -8 : 8), c.y(p.rate) + below,
         format("fill=\"%s\" text-anchor=\"%s\"", colour, right ? "end" : "start").c_str(), words);
}

}  // namespace

std::string plan_svg(const PlanAnswer& a) {
  const PlanQuestion& q = a.asked;
  const double most_x = a.points.back().reducers, most_y = q.worker * 1.15;
  Chart c(most_x, most_y);
  c.raw(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 720 440\" font-family=\"sans-serif\" "
      "font-size=\"12\" fill=\"#333\">\n<rect width=\"720\" height=\"440\" fill=\"#fff\"/>\n");
  c.text(kLeft, 26, "font-size=\"15\" font-weight=\"bold\"",
         format("All-reduce of %u workers at %s with reducers at %s", q.workers, rate_text(q.worker).c_str(),
                rate_text(q.reducer).c_str()));
  c.text(kLeft, 46, "fill=\"#666\"", "size / time, at the limit of the links");
  // Where the pool is slower.
  const double even = std::min(a.ring.rate * q.workers / q.reducer, most_x);
  c.raw(format("<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" fill=\"#fbe9e7\"/>\n", kLeft, kTop,
               c.x(even) - kLeft, kBottom - kTop));
  axes(c, most_x, most_y);
  if (c.x(even) - kLeft > 130) c.text(kLeft + 8, kTop + 18, "fill=\"#b23b2e\"", "here the ring is faster");
  c.curve(
      a, a.ring.rate, [](const PlanPoint& p) { return p.optimum; },
      "stroke=\"#8a8f98\" stroke-width=\"1.5\" stroke-dasharray=\"2 4\"");
  c.line(kLeft, c.y(a.ring.rate), kRight, c.y(a.ring.rate),
         "stroke=\"#d1782a\" stroke-width=\"2\" stroke-dasharray=\"7 4\"");
  c.curve(
      a, 0, [](const PlanPoint& p) { return p.rate; }, "stroke=\"#1f6fb4\" stroke-width=\"2.5\"");
  if (a.beat && *a.beat != a.match)
    mark(c, a.at(*a.beat), "#1f6fb4", format("%u: beats the ring", *a.beat), 18);
  mark(c, a.at(a.match), "#1f6fb4", format("%u: as much as the workers", a.match), -10);
  if (q.reducers && *q.reducers > 0) mark(c, a.chosen, "#7a3fb0", format("%u: yours", *q.reducers), 32);
  const struct {
    const char *style, *words;
  } legend[] = {{"stroke=\"#1f6fb4\" stroke-width=\"2.5\"", "pool"},
                {"stroke=\"#d1782a\" stroke-width=\"2\" stroke-dasharray=\"7 4\"", "ring of the workers"},
                {"stroke=\"#8a8f98\" stroke-width=\"1.5\" stroke-dasharray=\"2 4\"",
                 "optimum, if workers summed a share too (not built)"}};
  double at = kLeft;
  for (const auto& l : legend) {
    c.line(at, 422, at + 28, 422, l.style);
    c.text(at + 34, 426, "", l.words);
    at += 60 + 7.0 * static_cast<double>(std::string_view(l.words).size());
  }
  return c.svg() + "</svg>\n";
}

}  // namespace fanin::topo
