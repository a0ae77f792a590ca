#include <limits>

#include <gtest/gtest-spi.h>

#include "autograd/gradient_check.h"
#include "tests/autograd/toy_ops.h"
#include "tests/support/op_test.h"

namespace loopless::testing {
namespace {

using Arrays = std::vector<std::vector<double>>;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

/// y = a^2 b, whose recorded gradients `spoil` may change.
GradientCheck product_check(const std::function<void(Floats& da, Floats& db)>& spoil) {
  GradientCheck check;
  check.inputs = {random_tensor({40}, 1), random_tensor({40}, 2)};
  check.reference = [](const Arrays& x) {
    std::vector<double> y;
    for (size_t i = 0; i < x[0].size(); ++i) y.push_back(x[0][i] * x[0][i] * x[1][i]);
    return y;
  };
  check.op = [=](const std::vector<Tensor>& x) {
    const Tensor y = Tensor::zeros({40});
    return record("product", y, x, [=](const Tensor& dy, Gradients d) {
      Floats da(40), db(40);
      for (int i = 0; i < 40; ++i) {
        const float a = x[0].data()[i], b = x[1].data()[i];
        da[i] = 2 * a * b * dy.data()[i];
        db[i] = a * a * dy.data()[i];
      }
      spoil(da, db);
      if (!da.empty()) d[0].take(tensor(da));
      if (!db.empty()) d[1].take(tensor(db));
    });
  };
  return check;
}

void expect_found(const std::function<void(Floats& da, Floats& db)>& spoil,
                  const std::string& beginning) {
  for (const bool every_element : {false, true}) {
    GradientCheck check = product_check(spoil);
    check.every_element = every_element;
    EXPECT_EQ(check_gradient(check).substr(0, beginning.size()), beginning);
  }
}

TEST(GradientCheck, accepts_a_right_gradient) {
  GradientCheck check = product_check([](Floats&, Floats&) {});
  check.every_element = true;
  for (check.seed = 1; check.seed <= 20; ++check.seed) EXPECT_EQ(check_gradient(check), "");
}

TEST(GradientCheck, finds_planted_errors) {
  const std::string problem = "direction 0: recorded gradient ";
  expect_found([](Floats& da, Floats&) { da[17] *= -1; }, problem);
  expect_found([](Floats&, Floats& db) { db[3] = 0; }, problem);
  expect_found([](Floats& da, Floats&) { std::swap(da[1], da[2]); }, problem);
  expect_found([](Floats& da, Floats&) { da[39] += 0.01f; }, problem);
  expect_found(
      [](Floats& da, Floats& db) {
        for (float& value : da) value *= 1.0001f;
        for (float& value : db) value *= 1.0001f;
      },
      problem);
  expect_found([](Floats& da, Floats& db) { da.assign(40, 0), db.assign(40, 0); }, problem);
}

TEST(GradientCheck, names_the_element) {
  GradientCheck check = product_check([](Floats&, Floats& db) { db[3] += 1; });
  check.every_element = true;
  check.directions = 0;
  const std::string problem = check_gradient(check);
  EXPECT_EQ(problem.find("input 1, element 3: recorded gradient "), 0u);
  EXPECT_NE(problem.find(", finite difference "), problem.npos);
  EXPECT_NE(problem.find(" of the largest, tolerance 1e-05"), problem.npos);
}

TEST(GradientCheck, finds_nan) {
  expect_found([](Floats& da, Floats&) { da[5] = kNan; }, "direction 0: recorded gradient nan");
  expect_found([](Floats& da, Floats&) { da[5] = INFINITY; }, "direction 0: recorded gradient ");
  GradientCheck check = product_check([](Floats&, Floats& db) { db[3] = kNan; });
  check.directions = 0;
  check.every_element = true;
  EXPECT_EQ(check_gradient(check).find("input 1, element 3: recorded gradient nan"), 0u);
}

TEST(GradientCheck, finds_a_nan_in_the_reference) {
  GradientCheck check = product_check([](Floats&, Floats&) {});
  check.reference = [](const Arrays& x) { return std::vector<double>(x[0].size(), kNan); };
  EXPECT_NE(check_gradient(check), "");
}

TEST(GradientCheck, finds_a_missing_gradient) {
  expect_found([](Floats&, Floats& db) { db.clear(); }, "input 1 received no gradient");
  expect_found([](Floats& da, Floats& db) { da.clear(), db.clear(); },
               "input 0 received no gradient");
}

TEST(GradientCheck, accepts_a_gradient_of_zero) {
  GradientCheck check;
  check.inputs = {random_tensor({6}, 1)};
  check.op = [](const std::vector<Tensor>& x) { return scale(x[0], 0); };
  check.reference = [](const Arrays& x) { return std::vector<double>(x[0].size(), 0.0); };
  check.every_element = true;
  EXPECT_EQ(check_gradient(check), "");
}

TEST(GradientCheck, errors) {
  GradientCheck check = product_check([](Floats&, Floats&) {});
  check.reference = [](const Arrays&) { return std::vector<double>(7, 1.0); };
  EXPECT_ERROR(check_gradient(check), "gradient check: the op gives 40 elements, the reference 7");
}

// What the tests of all ops are written with must fail when it should.

constexpr auto kIdentity = []<class S>(const std::vector<std::vector<S>>& in) { return in[0]; };
constexpr auto kOverflow = []<class S>(const std::vector<std::vector<S>>& in) {
  std::vector<S> y = in[0];
  for (S& value : y) value = value * S(1e30) * S(1e30);
  return y;
};

TEST(OpTest, expect_matches_fails_when_it_should) {
  expect_matches(tensor({1, 2}), kIdentity, {tensor({1, 2})});
  EXPECT_NONFATAL_FAILURE(expect_matches(tensor({1, 2.00001f}), kIdentity, {tensor({1, 2})}),
                          "largest_difference");
  EXPECT_NONFATAL_FAILURE(expect_matches(tensor({1, kNan}), kIdentity, {tensor({1, 2})}),
                          "largest_difference");
  EXPECT_NONFATAL_FAILURE(expect_matches(tensor({1}), kIdentity, {tensor({1, 2})}),
                          "largest_difference");
  EXPECT_FATAL_FAILURE(expect_matches(tensor({kNan}), kOverflow, {tensor({1})}),
                       "a test of nothing");
}

TEST(OpTest, expect_accumulates_fails_when_it_should) {
  const auto twice = [](const std::vector<Tensor>& x) { return scale(x[0], 2); };
  expect_accumulates(twice, {tensor({1, 2})});
  const auto overwriting = [](const std::vector<Tensor>& x) {
    return record("overwriting", x[0].clone(), x,
                  [](const Tensor& dy, Gradients d) { d[0].target().tensor.copy_from(dy); });
  };
  ::testing::TestPartResultArray failures;
  {
    const ::testing::ScopedFakeTestPartResultReporter reporter(&failures);
    expect_accumulates(overwriting, {tensor({1, 2})});
  }
  EXPECT_EQ(failures.size(), 2);  // the gradient of the leaf, and the parameter's
}

}  // namespace
}  // namespace loopless::testing
