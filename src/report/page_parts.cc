#include "src/report/page_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "src/base/printable.h"
#include "src/report/words.h"

namespace ss {

std::string Escaped(const std::string& text) {
  std::string line = text, out;
  std::replace(line.begin(), line.end(), '\n', ' ');
  for (char c : Printable(line)) {
    switch (c) {
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '&':
        out += "&amp;";
        break;
      case '"':
        out += "&quot;";
        break;
      default:
        out += c;
    }
  }
  return out;
}

namespace {

class Printer {
 public:
  explicit Printer(const Page& page) : page_(page) {}

  std::string Print() {
    Head();
    if (page_.hazards.size() > 1) Navigation();
    Add("<main>\n");
    for (const PageHazard& hazard : page_.hazards) Hazard(hazard);
    Add("</main>\n");
    Board();
    List("Advice", page_.advice);
    List("What this page does not cover", page_.gaps);
    Add("<footer>StreamSan {}. {}</footer>\n", STREAMSAN_VERSION, Escaped(page_.legend));
    Scripts();
    return std::move(out_);
  }

 private:
  template <typename... T>
  void Add(fmt::format_string<T...> format, T&&... values) {
    fmt::format_to(std::back_inserter(out_), format, std::forward<T>(values)...);
  }

  void Head() {
    Add("<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n"
        "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
        "<title>{}</title>\n<style>\n{}</style></head><body>\n",
        Escaped(page_.title), kPageStyle);
    Add("<header><h1>{}</h1><p>{}</p></header>\n", Escaped(page_.title), Escaped(page_.coverage));
  }

  void Navigation() {
    Add("<nav aria-label=\"hazards\">");
    for (const PageHazard& hazard : page_.hazards) {
      Add("<button type=\"button\">{} {} {}</button>", hazard.alias, Escaped(hazard.code),
          Escaped(hazard.label));
    }
    Add("</nav>\n");
  }

  void Hazard(const PageHazard& hazard) {
    Add("<article id=\"{}\"><h2>{} {} <span class=\"sure\">{}</span></h2>\n<p>{}</p>\n",
        hazard.alias, hazard.alias, Escaped(hazard.code), Escaped(hazard.sure),
        Escaped(hazard.wrong));
    Add("<dl class=\"answers\">\n");
    for (const Answer& answer : hazard.answers) {
      const char* style = answer.early ? " class=\"early\"" : "";
      Add("<dt{}>{}</dt><dd{}>{}</dd>\n", style, Escaped(answer.question), style,
          Escaped(answer.text));
    }
    Add("</dl>\n<div class=\"slot\"></div>\n<div class=\"more\">\n");
    for (const auto& [heading, lines] : hazard.more) List(heading, lines);
    Add("</div></article>\n");
  }

  void List(const std::string& heading, const std::vector<std::string>& lines) {
    if (lines.empty()) return;
    Add("<h3>{}</h3><ul>\n", Escaped(heading));
    for (const std::string& line : lines) Add("<li>{}</li>\n", Escaped(line));
    Add("</ul>\n");
  }

  void Board() {
    Add("<div id=\"board\" hidden><div class=\"bar\">"
        "<button type=\"button\" id=\"all\"></button><button type=\"button\" id=\"fit\">Fit "
        "(F)</button>"
        "<button type=\"button\" id=\"out\" aria-label=\"zoom out\">&minus;</button>"
        "<button type=\"button\" id=\"in\" aria-label=\"zoom in\">+</button>"
        "<input id=\"search\" type=\"search\" placeholder=\"/ search: op, kernel, buffer, lane\" "
        "aria-label=\"search\"><span id=\"hit\"></span><span id=\"note\"></span>"
        "<span>drag or &larr; &rarr; moves, wheel or + &minus; zooms{}</span></div>\n"
        "<div id=\"frame\"><canvas id=\"picture\" tabindex=\"0\" role=\"img\" "
        "aria-label=\"timeline of the operations; the words above say the same\"></canvas>"
        "<div id=\"tip\" hidden></div></div></div>\n",
        page_.hazards.size() > 1 ? ", N and P for the next and previous hazard" : "");
  }

  // `<` never stands in the data, so nothing in it can end the script element.
  void Scripts() {
    std::string data = page_.data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
    for (size_t at = 0; (at = data.find('<', at)) != std::string::npos;)
      data.replace(at, 1, "\\u003c");
    Add("<script id=\"data\" "
        "type=\"application/json\">{}</script>\n<script>\n{}</script>\n</body></html>\n",
        data, kPageScript);
  }

  const Page& page_;
  std::string out_;
};

}  // namespace

std::string PrintPage(const Page& page) { return Printer(page).Print(); }

}  // namespace ss
