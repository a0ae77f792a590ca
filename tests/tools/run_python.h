/// The Python that tests of the Python tools run with.
#pragma once

#include <cstdlib>
#include <string>

#include "tests/tools/run_tool.h"

namespace loopless::testing {

/// The system's, where tools/setup.sh puts numpy.
inline const std::string kSystemPython = "/usr/bin/python3";

/// The one that may have torch and safetensors, for the tests that need them: LOOPLESS_PYTHON, or
/// the first one in the PATH.
inline std::string python() {
  const char* named = std::getenv("LOOPLESS_PYTHON");
  return named ? named : "python3";
}

inline bool has_python_module(const std::string& module) {
  return run_command(python() +
                     " -c 'import importlib.util as u, sys; sys.exit(not u.find_spec(\"" + module +
                     "\"))'")
             .status == 0;
}

}  // namespace loopless::testing
