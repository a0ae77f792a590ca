/// Says what files and run directories hold.
#include <cstdio>
#include <string>
#include <vector>

#include <CLI/CLI.hpp>

#include "tensor/error.h"
#include "tensor/file.h"
#include "tools/inspection.h"
#include "train/flags.h"

namespace loopless {
namespace {

struct Options {
  std::vector<std::string> paths;
  bool is_all = false, is_json = false;
};

/// A report, or an error, for each path. Whether all of them are whole.
bool report(const Options& options) {
  bool is_whole = true;
  for (const std::string& path : options.paths) {
    const bool is_first = &path == &options.paths.front();
    nlohmann::ordered_json inspection;
    try {
      inspection = inspect(path);
      is_whole = is_whole && !has_error(inspection);
    } catch (const std::exception& error) {
      is_whole = false;
      std::fprintf(stderr, "inspect: %s\n", one_line(error.what()).c_str());
      if (!options.is_json) continue;
      inspection = {{"path", path}, {"error", error.what()}};
    }
    std::string text;
    if (options.is_json) {
      const auto replace = nlohmann::json::error_handler_t::replace;
      text = inspection.dump(-1, ' ', /*ensure_ascii=*/true, replace) + "\n";
    } else {
      text = (is_first ? "" : "\n") + inspection_text(inspection, options.is_all);
    }
    std::fwrite(text.data(), 1, text.size(), stdout);
    CHECK(std::fflush(stdout) == 0, "cannot write to the standard output");
  }
  return is_whole;
}

int run(int argc, char** argv) {
  CLI::App app(
      "Says what a checkpoint, any .safetensors, an .npy or the folder of a run holds. The exit\n"
      "status is 1 if something is broken.",
      "inspect");
  Options options;
  app.add_option("paths", options.paths, "files and folders of runs")->type_name("PATH...");
  app.add_flag("--all", options.is_all, "each moment of Adam, and each metric, too");
  app.add_flag("--json", options.is_json, "one JSON object a path, on a line of its own");
  try {
    app.parse(argc, argv);
    if (options.paths.empty())
      throw CLI::ParseError("a file or the folder of a run must follow", 2);
  } catch (const CLI::CallForHelp&) {
    std::fputs(app.help().c_str(), stdout);
    return 0;
  } catch (const CLI::ParseError& error) {
    throw UsageError(std::string(error.what()) + "; --help shows the usage");
  }
  return report(options) ? 0 : 1;
}

}  // namespace
}  // namespace loopless

int main(int argc, char** argv) {
  return loopless::run_program("inspect", [&] { return loopless::run(argc, argv); });
}
