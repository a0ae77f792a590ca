#include <algorithm>
#include <cstdio>
#include <vector>

#include "tensor/file.h"
#include "tools/inspection.h"
#include "train/setting_values.h"

namespace loopless {
namespace {

using Json = nlohmann::ordered_json;

/// Rows of cells under a head; the first columns left-aligned, numbers to the right.
class Table {
 public:
  Table(std::vector<std::string> head, size_t left) : rows_{std::move(head)}, left_(left) {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }

  std::string text() const {
    std::vector<size_t> widths;
    for (const auto& row : rows_) {
      widths.resize(std::max(widths.size(), row.size()));
      for (size_t i = 0; i < row.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
    }
    std::string result;
    for (const auto& row : rows_) {
      std::string line;
      for (size_t i = 0; i < row.size(); ++i) {
        const std::string padding(widths[i] - row[i].size(), ' ');
        line += (i ? "  " : "") + (i < left_ ? row[i] + padding : padding + row[i]);
      }
      line.erase(line.find_last_not_of(' ') + 1);
      result += line + "\n";
    }
    return result;
  }

 private:
  std::vector<std::vector<std::string>> rows_;
  size_t left_;
};

std::string number(const Json& value) {
  if (value.is_number_integer()) return value.dump();
  if (!value.is_number()) return value.is_null() ? "null" : value.dump();
  char text[32];
  std::snprintf(text, sizeof text, "%.4g", value.get<double>());
  return text;
}

std::string bytes_text(const Json& bytes) {
  const double value = bytes.get<double>();
  char text[48];
  if (value < 1 << 20) {
    std::snprintf(text, sizeof text, "%.0f bytes", value);
  } else {
    std::snprintf(text, sizeof text, "%.1f MiB", value / (1 << 20));
  }
  return text;
}

std::string shape_text(const Json& shape) {
  std::string text = "[";
  for (size_t i = 0; i < shape.size(); ++i) text += (i ? ", " : "") + shape[i].dump();
  return text + "]";
}

/// "  Tc 8, lr 0.001", the words that the flags would take.
std::string list_text(const Json& object) {
  std::string text;
  for (const auto& [key, value] : object.items()) {
    const std::string word = value.is_object()
                                 ? value.dump(-1, ' ', false, Json::error_handler_t::replace)
                                 : join(words_of(nlohmann::json(value)));
    text += (text.empty() ? "" : "  ") + key + " " + printable(word);
  }
  return text.empty() ? "none" : text;
}

/// The row, and what is known of the elements.
std::vector<std::string> with_elements(std::vector<std::string> row, const Json& elements) {
  for (const char* key : {"count", "rms", "norm", "min", "max", "nonfinite"})
    row.push_back(number(elements[key]));
  return row;
}

std::vector<std::string> tensor_row(const Json& tensor) {
  return with_elements({printable(tensor["name"].get<std::string>()),
                        tensor["dtype"].get<std::string>(), shape_text(tensor["shape"])},
                       tensor["elements"]);
}

std::string tensors_text(const Json& tensors) {
  Table table({"tensor", "type", "shape", "elements", "rms", "norm", "min", "max", "non-finite"},
              3);
  for (const Json& tensor : tensors) table.add(tensor_row(tensor));
  return table.text();
}

std::vector<std::string> group_row(const std::string& name, const Json& group) {
  return with_elements({name, number(group["tensors"])}, group["elements"]);
}

std::string groups_text(const Json& inspection) {
  Table table({"group", "tensors", "elements", "rms", "norm", "min", "max", "non-finite"}, 1);
  for (const Json& group : inspection["groups"]) {
    table.add(group_row(printable(group["name"].get<std::string>()), group));
  }
  if (inspection.contains("moments")) {
    table.add(group_row("adam.m (first moments)", inspection["moments"]["m"]));
    table.add(group_row("adam.v (second moments)", inspection["moments"]["v"]));
  }
  return table.text();
}

std::string title(const Json& inspection) { return inspection["path"].get<std::string>() + ": "; }

std::string npy_text(const Json& inspection) {
  std::string text = title(inspection) + inspection["dtype"].get<std::string>() + " " +
                     shape_text(inspection["shape"]) + ", " + bytes_text(inspection["bytes"]) +
                     "\n";
  const Json& e = inspection["elements"];
  text += "elements " + number(e["count"]) + "  mean " + number(e["mean"]) + "  rms " +
          number(e["rms"]) + "  min " + number(e["min"]) + "  max " + number(e["max"]) +
          "  non-finite " + number(e["nonfinite"]) + "\n";
  if (!inspection.contains("tokens")) return text;
  const Json& tokens = inspection["tokens"];
  return text + "as tokens: " + number(tokens["different"]) + " different, the largest " +
         number(tokens["largest"]) + ", " + number(tokens["entropy"]) + " bits by frequency\n";
}

std::string safetensors_text(const Json& inspection, bool is_all) {
  const bool is_checkpoint = inspection["kind"] == "checkpoint";
  std::string text = title(inspection);
  if (!is_checkpoint) {
    text += "safetensors, ";
  } else if (inspection.contains("error")) {
    text += "checkpoint, ";
  } else {
    text += "checkpoint of " + inspection["method"].get<std::string>() + ", step " +
            number(inspection["step"]) + ", ";
  }
  text += bytes_text(inspection["bytes"]) + "\n";
  if (inspection.contains("error"))
    text += "broken: " + inspection["error"].get<std::string>() + "\n";
  if (inspection.contains("settings")) {
    text += "settings other than defaults: " + list_text(inspection["settings"]) + "\n";
  }
  if (inspection.contains("state")) text += "state: " + list_text(inspection["state"]) + "\n";
  if (!inspection["metadata"].empty()) {
    text += "metadata: " + list_text(inspection["metadata"]) + "\n";
  }
  if (is_checkpoint && !inspection.contains("moments")) {
    text += "no moments of Adam: it can be loaded and evaluated, not resumed\n";
  }
  text += "\n" + tensors_text(inspection["tensors"]);
  if (is_all && inspection.contains("moments")) {
    text += "\n" + tensors_text(inspection["moments"]["tensors"]);
  }
  return text + "\n" + groups_text(inspection);
}

/// The metrics that tell how a run goes; all of them with --all.
std::string metrics_line(const char* name, const Json& line, bool is_all) {
  std::string text = std::string(name) + "  ";
  for (const auto& [key, value] : line.items()) {
    const bool is_shown = key == "step" || key == "loss" || key == "test_loss" ||
                          key == "seconds" || key == "tokens_per_s";
    if (is_all || is_shown) text += "  " + printable(key) + " " + number(value);
  }
  return text + "\n";
}

std::string metrics_text(const Json& metrics, bool is_all) {
  std::string text = "metrics: " + number(metrics["lines"]) + " lines";
  if (metrics["is_last_line_cut"].get<bool>()) {
    text += ", and one that is cut: being written, or left by a run that was killed";
  }
  text += "\n";
  if (metrics.contains("first")) text += metrics_line("  first", metrics["first"], is_all);
  if (metrics.contains("last")) text += metrics_line("  last ", metrics["last"], is_all);
  if (metrics.contains("best")) text += metrics_line("  best ", metrics["best"], is_all);
  return text;
}

std::string checkpoints_text(const Json& inspection) {
  const Json& checkpoints = inspection["checkpoints"];
  if (checkpoints.empty()) return "checkpoints: none\n";
  Table table({"checkpoint", "step", "size", "tensors", "moments", "test loss", ""}, 1);
  std::string broken;
  for (const Json& row : checkpoints) {
    const std::string file = printable(row["file"].get<std::string>());
    if (row.contains("error")) {
      table.add({file, "", bytes_text(row["bytes"]), "", "", "", "broken"});
      broken += "broken: " + row["error"].get<std::string>() + "\n";
      continue;
    }
    const bool is_newest = row["is_newest"].get<bool>(), is_best = row["is_best"].get<bool>();
    table.add({file, number(row["step"]), bytes_text(row["bytes"]), number(row["tensors"]),
               row["has_moments"].get<bool>() ? "yes" : "no",
               row.contains("test_loss") ? number(row["test_loss"]) : "-",
               is_newest && is_best ? "newest, best"
               : is_newest          ? "newest"
               : is_best            ? "best"
                                    : ""});
  }
  std::string text = table.text() + broken;
  if (!inspection.contains("leftovers")) return text;
  for (const Json& name : inspection["leftovers"]) {
    text += "left over: " + printable(name.get<std::string>()) + ", by a process that was killed\n";
  }
  return text;
}

std::string run_text(const Json& inspection, bool is_all) {
  std::string text = title(inspection);
  const auto part = [&](const char* key, const char* file, const auto& show) {
    const Json& value = inspection[key];
    if (value.is_null()) {
      text += std::string(file) + ": is not there\n";
    } else if (value.contains("error")) {
      text += "broken: " + value["error"].get<std::string>() + "\n";
    } else {
      text += show(value);
    }
  };
  const Json& config = inspection["config"];
  text += config.is_object() && config.contains("method")
              ? "run of " + config["method"].get<std::string>() + "\n"
              : "run\n";
  part("config", "config.json", [](const Json& value) {
    return "settings other than defaults: " + list_text(value["settings"]) + "\n";
  });
  part("metrics", "metrics.jsonl", [&](const Json& value) { return metrics_text(value, is_all); });
  return text + "\n" + checkpoints_text(inspection);
}

}  // namespace

std::string inspection_text(const Json& inspection, bool is_all) {
  if (inspection["kind"] == "npy") return npy_text(inspection);
  if (inspection["kind"] == "run") return run_text(inspection, is_all);
  return safetensors_text(inspection, is_all);
}

}  // namespace loopless
