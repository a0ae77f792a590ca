// tools/plot and tools/quickstart_summary on made-up results.
#include <filesystem>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "tests/support/files.h"
#include "tests/tools/run_tool.h"

namespace loopless::testing {
namespace {

/// A folder with the runs smt, dmt and bptt and their evaluations, removed in the end.
class ResultTools : public ::testing::Test {
 protected:
  ResultTools() {
    for (const char* method : {"smt", "dmt", "bptt"}) {
      const std::string run = std::string(method) + "/";
      write(run + "config.json", "{\"method\": \"" + std::string(method) + "\"}");
      write(run + "metrics.jsonl",
            "{\"step\":1,\"loss\":5.0,\"test_loss\":null,\"seconds\":0.5}\n"
            "{\"step\":20,\"loss\":2.5,\"test_loss\":2.75,\"seconds\":12.25}\n");
      const std::string bits =
          "{\"bits\": 2.5, \"bits_first8\": 2.25, \"bits_last32\": 3.5, \"by_position\": [2, 3]}";
      const bool has_teacher = run != "bptt/";
      write(run + "evaluation.json", "{\"unigram\": 4.25, \"rnn\": " + bits +
                                         ", \"teacher\": " + (has_teacher ? bits : "null") +
                                         ", \"drift\": " + (has_teacher ? "[0, 0.5]" : "[]") + "}");
    }
  }
  void write(const std::string& name, const std::string& text) {
    std::filesystem::create_directories(std::filesystem::path(folder_ / name).parent_path());
    write_bytes(folder_ / name, text);
  }
  std::string at(const std::string& name) const { return (folder_ / name); }

  /// Draws into a new folder; the picture's bytes. `said` is what the tool prints.
  std::string picture(const std::string& command, const std::string& suffix,
                      const std::string& said = "") {
    const std::string file = at("new/figure." + suffix);
    const Outcome outcome = run_command("tools/plot " + command + " -o " + file);
    EXPECT_EQ(outcome.output, said);
    EXPECT_EQ(outcome.status, 0);
    const std::string bytes = read_bytes(file);
    std::filesystem::remove_all(at("new"));
    return bytes;
  }
  void expect_png(const std::string& command, const std::string& said = "") {
    EXPECT_EQ(picture(command, "png", said).substr(0, 8), "\x89PNG\r\n\x1a\n");
  }
  void expect_error(const std::string& command, int status, const std::string& message) {
    const Outcome outcome = run_command(command);
    EXPECT_EQ(outcome.output, message + "\n");
    EXPECT_EQ(outcome.status, status);
  }

  TemporaryFolder folder_;
};

TEST_F(ResultTools, plot_draws_png_files) {
  expect_png("loss " + at("smt") + " " + at("dmt") + " " + at("bptt"));
  expect_png("bits " + at("smt/evaluation.json") + " " + at("bptt/evaluation.json"));
  expect_png("drift " + at("smt/evaluation.json"));
}

TEST_F(ResultTools, plot_writes_svg_and_pdf_that_are_the_same_each_time) {
  const std::string command = "metric loss,lr " + at("smt") + " " + at("dmt");
  for (const char* method : {"smt", "dmt"}) {
    write(std::string(method) + "/metrics.jsonl", "{\"step\":1,\"loss\":5.0,\"lr\":0.1}\n");
  }
  const std::string svg = picture(command, "svg"), pdf = picture(command, "pdf");
  EXPECT_EQ(svg.substr(0, 5), "<?xml");
  EXPECT_NE(svg.find("</svg>"), std::string::npos);
  EXPECT_EQ(svg, picture(command, "svg"));
  EXPECT_EQ(pdf.substr(0, 5), "%PDF-");
  EXPECT_EQ(pdf, picture(command, "pdf"));
}

/// Null, NaN and a key that a line lacks are gaps; a run whose lines all lack it has no line.
TEST_F(ResultTools, plot_leaves_gaps_where_there_is_no_number) {
  write("smt/metrics.jsonl",
        "{\"step\":1,\"loss\":5.0,\"test_loss\":null,\"loss_dec\":1}\n"
        "{\"step\":2,\"loss\":null,\"test_loss\":3}\n"
        "{\"step\":3,\"loss\":NaN,\"test_loss\":null}\n"
        "{\"step\":4,\"loss\":2.5,\"test_loss\":Infinity}\n");
  expect_png("loss " + at("smt"));
  expect_png("metric loss_dec,loss " + at("smt") + " " + at("bptt"),
             "plot: " + at("bptt") + ": has no \"loss_dec\", and no line in its panel\n");
}

TEST_F(ResultTools, plot_leaves_out_a_half_written_last_line) {
  const std::string lines = read_bytes(at("smt/metrics.jsonl"));
  write("smt/metrics.jsonl", lines + "{\"step\":40,\"lo");
  expect_png("metric loss,test_loss " + at("smt"),
             "plot: " + at("smt/metrics.jsonl") + ":3: is half-written, and left out\n");
  write("smt/metrics.jsonl", lines + "{\"step\":40,\"loss\":2}");
  expect_png("metric loss " + at("smt"));
}

/// The labels of an SVG are comments in it.
TEST_F(ResultTools, plot_tells_runs_of_one_name_apart) {
  for (const char* folder : {"a/smt", "b/smt"}) {
    std::filesystem::create_directories(at(folder));
    std::filesystem::copy(at("smt"), at(folder));
  }
  const std::string runs = at("a/smt") + " " + at("b/smt") + " " + at("b/smt/");
  const std::string svg = picture("metric loss " + runs, "svg");
  for (const char* label : {"<!-- a/smt -->", "<!-- b/smt -->"}) {
    const size_t place = svg.find(label);
    EXPECT_NE(place, std::string::npos) << label;
    EXPECT_EQ(svg.find(label, place + 1), std::string::npos) << label;
  }
}

TEST_F(ResultTools, plot_labels_are_the_names_to_the_letter) {
  std::filesystem::rename(at("smt"), at("$a$b$"));
  std::filesystem::rename(at("dmt"), at("_c"));
  const std::string svg = picture("metric loss '" + at("$a$b$") + "' " + at("_c"), "svg");
  for (const char* label : {"<!-- $a$b$ -->", "<!-- ./_c -->"}) {
    EXPECT_NE(svg.find(label), std::string::npos) << label;
  }
}

TEST_F(ResultTools, plot_errors_are_one_line) {
  const std::string to_png = " -o " + at("x.png"), metrics = at("smt/metrics.jsonl");
  expect_error("tools/plot bits " + at("dmt/config.json") + to_png, 1,
               "plot: " + at("dmt/config.json") + ": is no result of build/evaluate --json");
  expect_error("tools/plot drift " + at("bptt/evaluation.json") + to_png, 1,
               "plot: " + at("bptt/evaluation.json") +
                   ": has no drift: a run without a teacher (BPTT) has none");
  expect_error("tools/plot metric lr " + at("smt") + to_png, 1,
               "plot: no run has \"lr\"; there are step, loss, test_loss, seconds");
  expect_error("tools/plot loss " + at("smt") + " -o " + metrics + "/x.svg", 1,
               "plot: " + metrics + ": cannot make a folder: File exists");
  const std::string is_folder = "is the folder that training wrote";
  expect_error("tools/plot loss " + at("nowhere") + to_png, 1,
               "plot: " + at("nowhere") + ": is no folder; a run " + is_folder);
  expect_error("tools/plot loss " + folder_.path() + to_png, 1,
               "plot: " + folder_.path() + ": holds no metrics.jsonl; a run " + is_folder);

  for (const auto& [lines, message] : {
           std::pair("", ": holds no log line yet"),
           std::pair("{\"st", ":1: is half-written, and left out"),
           std::pair("{\"step\":1}\n[]\n{\"step\":3}\n", ":2: must be a JSON object"),
           std::pair("{\"loss\":1}\n", ":1: lacks \"step\""),
           std::pair("{\"step\":1,\"loss\":null}\n", ": has no \"test_loss\"; it has step, loss"),
       }) {
    write("smt/metrics.jsonl", lines);
    const Outcome outcome = run_command("tools/plot loss " + at("smt") + to_png);
    EXPECT_EQ(outcome.output.find("plot: " + metrics + message + "\n"), 0u) << outcome.output;
    EXPECT_EQ(outcome.status, 1) << lines;
  }
  expect_error("tools/plot metric loss " + at("smt") + to_png, 1,
               "plot: \"loss\" is null in all lines");
  EXPECT_FALSE(std::filesystem::exists(at("x.png")));
}

TEST_F(ResultTools, plot_usage_errors_are_one_line) {
  const std::string usage = "; --help shows the usage", run = at("smt");
  expect_error("tools/plot bits x.json", 2,
               "plot: the following arguments are required: -o/--output" + usage);
  expect_error("tools/plot loss " + run + " -o x.jpg", 2,
               "plot: argument -o/--output: must end in .png, .svg, .pdf, got 'x.jpg'" + usage);
  expect_error("tools/plot metric loss,,lr " + run + " -o x.png", 2,
               "plot: argument KEY,...: must be keys with commas between them, got "
               "'loss,,lr'" +
                   usage);
}

TEST_F(ResultTools, plot_says_that_matplotlib_is_missing) {
  write("hidden/matplotlib.py", "raise ImportError\n");
  expect_error("PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=" + at("hidden") + " tools/plot loss " +
                   at("smt") + " -o " + at("x.png"),
               1, "plot: matplotlib is not importable (pip install matplotlib)");
}

TEST_F(ResultTools, summary_of_the_quickstart) {
  const Outcome outcome = run_command("tools/quickstart_summary " + folder_.path());
  EXPECT_EQ(outcome.status, 0) << outcome.output;
  EXPECT_NE(outcome.output.find("RNN after SMT, then DMT             2.500     2.250     3.500"
                                "      20     12.2"),
            std::string::npos)
      << outcome.output;
  const std::string json = read_bytes(folder_ / "summary.json");
  EXPECT_EQ(json.find("{\n  \"unigram\": 4.25,\n  \"rows\": ["), 0u) << json;
  size_t last = 0;
  for (const char* name : {"teacher", "smt", "dmt", "bptt"}) {
    const size_t place = json.find("\"name\": \"" + std::string(name) + "\",\n      \"bits\": 2.5");
    ASSERT_NE(place, std::string::npos) << name << " in " << json;
    EXPECT_GT(place, last);
    last = place;
  }
  EXPECT_NE(json.find("\"seconds\": 12.25"), std::string::npos);

  std::filesystem::remove_all(at("dmt"));
  const Outcome failed = run_command("tools/quickstart_summary " + folder_.path());
  EXPECT_EQ(failed.status, 1);
  EXPECT_EQ(failed.output.find("quickstart_summary: " + folder_.path()), 0u) << failed.output;
}

}  // namespace
}  // namespace loopless::testing
