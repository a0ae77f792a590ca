#include "tensor/safetensors.h"
#include "tests/support/files.h"
#include "tests/support/op_test.h"

namespace loopless::testing {
namespace {

/// A file with this header and `data_bytes` bytes behind it.
std::string safetensors(const std::string& header, size_t data_bytes) {
  std::string bytes;
  for (int i = 0; i < 8; ++i) bytes += static_cast<char>(header.size() >> (8 * i));
  return bytes + header + std::string(data_bytes, 'x');
}

std::string entry(const std::string& name, const std::string& dtype, const std::string& shape,
                  const std::string& offsets) {
  return "\"" + name + "\":{\"dtype\":\"" + dtype + "\",\"shape\":" + shape +
         ",\"data_offsets\":" + offsets + "}";
}

/// Reads `bytes` as a file: the error without the path, or "" if there is none.
std::string complaint(const TemporaryFolder& folder, const std::string& bytes) {
  const std::string path = folder / "x.safetensors";
  write_bytes(path, bytes);
  try {
    read_safetensors(path);
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.substr(0, path.size() + 2), path + ": ");
    return message.substr(path.size() + 2);
  }
  return "";
}

std::string complaint(const std::string& header, size_t data_bytes) {
  const TemporaryFolder folder;
  const std::string got = complaint(folder, safetensors(header, data_bytes));
  return got.substr(0, got.find("; save it again"));
}

NamedTensors samples() {
  return {{"w", random_tensor({2, 3}, 1)},
          {"ids", random_ids({3}, -5, 5, 2)},
          {"bytes", Tensor::from({5}, std::vector<uint8_t>{1, 2, 3, 4, 5})},
          {"half", Tensor::from({2}, std::vector<BF16>{{0x3f80}, {0xc000}})},
          {"none", Tensor::empty({0, 4})},
          {"scalar", Tensor::full({}, 2.5f)}};
}

TEST(Safetensors, matches_the_format) {
  const TemporaryFolder folder;
  const std::string path = folder / "x.safetensors";
  write_safetensors(path,
                    {{"b", Tensor::from({2}, std::vector<float>{1, 2})},
                     {"a", Tensor::from({1, 1}, std::vector<uint8_t>{7})}},
                    {{"format", "pt"}});
  const std::string header =
      "{\"__metadata__\":{\"format\":\"pt\"},"
      "\"b\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]},"
      "\"a\":{\"dtype\":\"U8\",\"shape\":[1,1],\"data_offsets\":[8,9]}}";
  ASSERT_EQ(header.size(), 139u);
  EXPECT_EQ(read_bytes(path), std::string("\x90\0\0\0\0\0\0\0", 8) + header + std::string(5, ' ') +
                                  std::string("\0\0\x80\x3f\0\0\0\x40\x07", 9));
}

TEST(Safetensors, reads_what_it_wrote) {
  const TemporaryFolder folder;
  const std::string path = folder / "x.safetensors";
  const Metadata metadata = {{"step", "17"}, {"quote\"", "line\nbreak \xc3\xa9"}};
  write_safetensors(path, samples(), metadata);
  const SafetensorsFile file = read_safetensors(path);
  EXPECT_EQ(file.metadata, metadata);
  ASSERT_EQ(file.tensors.size(), samples().size());
  for (const auto& [name, x] : samples()) {
    const Tensor& got = file.tensors.at(name);
    EXPECT_EQ(got.dtype(), x.dtype()) << name;
    EXPECT_EQ(got.shape(), x.shape()) << name;
    EXPECT_EQ(std::memcmp(got.raw(), x.raw(), x.bytes()), 0) << name;
  }
  const std::string bytes = read_bytes(path);
  EXPECT_EQ(static_cast<unsigned char>(bytes[0]) % 8, 0);
  EXPECT_EQ(folder.file_count(), 1);
  write_safetensors(path, {});
  EXPECT_TRUE(read_safetensors(path).tensors.empty());
  EXPECT_TRUE(read_safetensors(path).metadata.empty());
}

TEST(Safetensors, other_spellings) {
  const std::string a = entry("a", "U8", "[2]", "[0,2]"), b = entry("b", "U8", "[2]", "[2,4]");
  EXPECT_EQ(complaint("{}", 0), "");
  EXPECT_EQ(complaint("{" + b + "," + a + "}", 4), "");
  EXPECT_EQ(complaint("{ " + a + " ,\n" + b + " }   ", 4), "");
  EXPECT_EQ(complaint("{" + a + "," + entry("none", "F32", "[0]", "[2,2]") + "," + b + "}", 4), "");
  EXPECT_EQ(complaint("{\"__metadata__\":{}," + a + "}", 2), "");
  EXPECT_EQ(complaint("{\"a\":{\"data_offsets\":[0,4],\"shape\":[],\"dtype\":\"I32\"}}", 4), "");
}

TEST(Safetensors, refuses_lengths) {
  const TemporaryFolder folder;
  const std::string whole = safetensors("{" + entry("a", "U8", "[2]", "[0,2]") + "}", 2);
  EXPECT_EQ(complaint(folder, "1234567"),
            "not a safetensors file: it has 7 bytes, and the length of the header alone has 8");
  EXPECT_EQ(complaint(folder, std::string(8, '\xff')),
            "not a safetensors file: the length of its header is 18446744073709551615 bytes, "
            "more than 100000000");
  EXPECT_EQ(complaint(folder, whole.substr(0, 20)),
            "the file is cut: its header ends at byte 61, the file at byte 20; copy it again");
  EXPECT_EQ(complaint(folder, whole.substr(0, 62)),
            "\"a\" ends at byte 2 behind the header, the file at byte 1; copy it again");
  EXPECT_EQ(complaint(folder, whole + "yz"),
            "2 bytes too many at the end belong to no tensor; save it again");
  EXPECT_EQ(complaint(folder, std::string(8, '\0')), "byte 8: the header must start with {");
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(complaint(folder, whole.substr(0, size)), "") << size << " bytes";
  }
}

TEST(Safetensors, refuses_malformed_json) {
  for (const auto& [header, problem] : std::vector<std::pair<std::string, std::string>>{
           {"[]", "byte 8: the header must start with {"},
           {" {}", "byte 8: the header must start with {"},
           {"\xef\xbb\xbf{}", "byte 8: the header must start with {"},
           {"{", "byte 10: the header is not well-formed JSON"},
           {"{}}", "byte 11: the header is not well-formed JSON"},
           {"{\"a\":}", "byte 14: the header is not well-formed JSON"},
           {"{\"\xff\":1}", "byte 11: the header is not well-formed JSON"},
           {std::string("{}\0{", 4), "byte 10: the header has a zero byte"},
           {"{\"a\":" + std::string(100'000, '['), "\"a\" must not be a list"},
           {"{\"a\":{\"a\":{", "\"a\": \"a\" is no field of a tensor"},
           {"{\"a\":{\"shape\":{", "\"a\": \"shape\" must not be an object"},
           {"{\"a\":{\"shape\":[[", "\"a\": \"shape\" must not be a list"},
           {"{\"a\":1}", "\"a\" must not be a number"},
           {"{\"a\":\"b\"}", "\"a\" must not be a string"},
           {"{\"a\n\\u0001\":null}", "byte 12: the header is not well-formed JSON"},
           {"{\"a\\u0001\\n\":null}", "\"a??\" must not be null"},
           {"{\"__metadata__\":{\"a\":1}}", "\"__metadata__\": \"a\" must not be a number"},
           {"{\"__metadata__\":{\"a\":[", "\"__metadata__\": \"a\" must not be a list"},
           {"{\"__metadata__\":{\"a\":\"b\",\"a\":\"c\"}}",
            "\"__metadata__\": \"a\" is there twice"},
           {"{\"__metadata__\":{},\"__metadata__\":{}}",
            "the name \"__metadata__\" is there twice"}}) {
    EXPECT_EQ(complaint(header, 0), problem) << header.substr(0, 100);
  }
}

TEST(Safetensors, refuses_malformed_entries) {
  const auto of = [](const std::string& fields) {
    return complaint("{\"a\":{" + fields + "}}", 4);
  };
  const std::string dtype = "\"dtype\":\"U8\"", shape = ",\"shape\":[4]";
  const std::string offsets = ",\"data_offsets\":[0,4]";
  EXPECT_EQ(of(dtype + shape + offsets), "");
  EXPECT_EQ(of(dtype + shape), "\"a\" must have dtype, shape and data_offsets");
  EXPECT_EQ(of(dtype + offsets), "\"a\" must have dtype, shape and data_offsets");
  EXPECT_EQ(of(dtype + shape + offsets + "," + dtype), "\"a\": \"dtype\" is there twice");
  EXPECT_EQ(of(dtype + shape + offsets + shape), "\"a\": \"shape\" is there twice");
  EXPECT_EQ(of(dtype + shape + offsets + ",\"x\":1"), "\"a\": \"x\" is no field of a tensor");
  EXPECT_EQ(of("\"dtype\":\"F64\""),
            "\"a\": \"dtype\" \"F64\" is not supported, only F32, BF16, I32 and U8");
  EXPECT_EQ(of("\"dtype\":5"), "\"a\": \"dtype\" must not be a number");
  EXPECT_EQ(of("\"dtype\":true"), "\"a\": \"dtype\" must not be true or false");
  EXPECT_EQ(of("\"shape\":[-4]"), "\"a\": \"shape\" must not be negative");
  EXPECT_EQ(of("\"shape\":[4.0]"), "\"a\": \"shape\" must not be a fraction or so large");
  EXPECT_EQ(of("\"shape\":[18446744073709551616]"),
            "\"a\": \"shape\" must not be a fraction or so large");
  EXPECT_EQ(of("\"shape\":[9223372036854775808]"),
            "\"a\": \"shape\": 9223372036854775808 is too large");
  EXPECT_EQ(of("\"shape\":[\"4\"]"), "\"a\": \"shape\" must not be a string");
  EXPECT_EQ(of("\"shape\":[1,1,1,1,1,1]"), "\"a\": \"shape\" has too many numbers");
  EXPECT_EQ(of("\"data_offsets\":[0,4,8]"), "\"a\": \"data_offsets\" has too many numbers");
  EXPECT_EQ(of("\"data_offsets\":[0]"), "\"a\": \"data_offsets\" must have two numbers");
}

TEST(Safetensors, refuses_places) {
  const auto of = [](const std::string& entries) { return complaint("{" + entries + "}", 8); };
  EXPECT_EQ(of(entry("a", "F32", "[2]", "[0,8]")), "");
  EXPECT_EQ(of(entry("a", "F32", "[3]", "[0,8]")),
            "\"a\" is f32 [3] and needs 12 bytes, but has 8");
  EXPECT_EQ(of(entry("a", "F32", "[2]", "[8,0]")), "\"a\" ends at byte 0, before its begin 8");
  EXPECT_EQ(of(entry("a", "F32", "[3]", "[0,12]")),
            "\"a\" ends at byte 12 behind the header, the file at byte 8; copy it again");
  EXPECT_EQ(of(entry("a", "F32", "[4294967296,4294967296]", "[0,0]")),
            "\"a\" has too many elements");
  EXPECT_EQ(of(entry("a", "F32", "[4611686018427387904]", "[0,0]")), "\"a\" has too many elements");
  EXPECT_EQ(of(entry("a", "F32", "[1]", "[0,4]") + "," + entry("b", "F32", "[1]", "[0,4]")),
            "\"b\" begins at byte 0 behind the header, inside another tensor");
  EXPECT_EQ(of(entry("a", "U8", "[5]", "[0,5]") + "," + entry("b", "F32", "[1]", "[4,8]")),
            "\"b\" begins at byte 4 behind the header, inside another tensor");
  EXPECT_EQ(of(entry("a", "U8", "[2]", "[0,2]") + "," + entry("b", "U8", "[5]", "[3,8]")),
            "bytes 2 to 3 behind the header belong to no tensor");
  EXPECT_EQ(of(entry("a", "F32", "[1]", "[4,8]")),
            "bytes 0 to 4 behind the header belong to no tensor");
  EXPECT_EQ(of(entry("a", "F32", "[1]", "[0,4]")),
            "4 bytes too many at the end belong to no tensor");
  EXPECT_EQ(of(entry("a", "U8", "[4]", "[0,4]") + "," + entry("a", "U8", "[4]", "[4,8]")),
            "the name \"a\" is there twice");
}

TEST(Safetensors, mutations) {
  const TemporaryFolder folder;
  const std::string path = folder / "x.safetensors";
  write_safetensors(path, samples(), {{"step", "17"}});
  const std::string whole = read_bytes(path);
  std::mt19937_64 random(1);
  const int count = static_cast<int>(sized(5000, 1000));
  int refused = 0;
  for (int n = 0; n < count; ++n) {
    const std::string bytes = mutated(whole, whole.size() - 50, random);
    write_bytes(path, bytes);
    try {
      int64_t total = 0;
      for (const auto& [name, x] : read_safetensors(path).tensors) total += x.bytes();
      EXPECT_LT(total, static_cast<int64_t>(bytes.size()));
    } catch (const Error& error) {
      ++refused;
      const std::string message = error.what();
      EXPECT_EQ(message.substr(0, path.size() + 2), path + ": ");
      EXPECT_EQ(message.find('\n'), message.npos);
      EXPECT_LT(message.size(), path.size() + 300);
    }
  }
  EXPECT_GT(refused, count / 2);
  EXPECT_LT(refused, count);  // some changes do no harm: other elements, other names
}

TEST(Safetensors, errors) {
  const TemporaryFolder folder;
  const std::string path = folder / "x.safetensors";
  const Tensor x = Tensor::full({2}, 1);
  EXPECT_ERROR(read_safetensors(path), path + ": cannot open: No such file or directory");
  EXPECT_ERROR(write_safetensors(path, {{"a", x}, {"a", x}}),
               path + ": cannot write: the name \"a\" is used twice or reserved");
  EXPECT_ERROR(write_safetensors(path, {{"__metadata__", x}}),
               path + ": cannot write: the name \"__metadata__\" is used twice or reserved");
  EXPECT_ERROR(write_safetensors(path, {{"a", Tensor()}}),
               path + ": cannot write: \"a\" is undefined");
  EXPECT_EQ(folder.file_count(), 0);
  write_safetensors(path, {{"a\xff", x}}, {{"k", "\xff"}});
  EXPECT_EQ(read_safetensors(path).tensors.count("a\xef\xbf\xbd"), 1u);
  EXPECT_EQ(read_safetensors(path).metadata.at("k"), "\xef\xbf\xbd");
}

}  // namespace
}  // namespace loopless::testing
