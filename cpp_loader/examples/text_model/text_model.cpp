// Says what texts are about: strings in, a dict of scores out.
//
//   text_model topics.pt "Rain and snow, says the forecast."
//
// It shows dicts both ways, an attribute that is one, methods besides forward, and an argument by
// name.
#include <scriptlang/scriptlang.hpp>

#include <cstdio>
#include <string>

using scriptlang::Value;

static void print_scores(const char* what, const Value& scores) {
  std::printf("%s:", what);
  for (const auto& [topic, score] : scores.items()) {
    std::printf(" %s %.1f", std::string(topic.string()).c_str(), score.number());
  }
  std::printf("\n");
}

static void run(const char* model, const std::string& text) {
  scriptlang::Module topics = scriptlang::load(model);
  std::printf("words:");
  for (Value word : topics("words", {text})) {
    std::printf(" %s", std::string(word.string()).c_str());
  }
  std::printf("\n");
  print_scores("scores", topics.forward({text}));
  Value weights = Value::dict({{"weather", 0.5}});
  print_scores("weighted", topics.forward({text}, {{"weights", weights}}));
  // What the program keeps, and how it is changed.
  Value learnt = topics("learn", {Value::dict({{"says", "speech"}, {"texts", "speech"}})});
  std::printf("knows %lld words, 'snow' is of %s\n", (long long)learnt.integer(),
              std::string(topics.attribute("known").at("snow").string()).c_str());
  print_scores("scores", topics.forward({text}));
}

int main(int count, char** arguments) {
  if (count != 3) {
    std::fprintf(stderr, "usage: text_model MODEL.pt TEXT\n");
    return 2;
  }
  try {
    run(arguments[1], arguments[2]);
  } catch (const scriptlang::Error& e) {
    std::fprintf(stderr, "%s: %s\n%s", e.class_name().c_str(), e.what(), e.stack().c_str());
    return 1;
  }
}
