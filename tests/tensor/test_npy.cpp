#include "tensor/npy.h"
#include "tests/support/files.h"
#include "tests/support/op_test.h"

namespace loopless::testing {
namespace {

/// A file with this header, padded as numpy does, and `data` behind it.
std::string npy(std::string header, const std::string& data, int major = 1, int minor = 0) {
  const size_t prefix = major == 1 ? 10 : 12;
  header.append(63 - (prefix + header.size()) % 64, ' ');
  header += '\n';
  std::string bytes = "\x93NUMPY";
  for (const int byte : {major, minor}) bytes += static_cast<char>(byte);
  for (size_t i = 0; i < prefix - 8; ++i) bytes += static_cast<char>(header.size() >> (8 * i));
  return bytes + header + data;
}

std::string header_for(const std::string& descr, const std::string& shape) {
  return "{'descr': '" + descr + "', 'fortran_order': False, 'shape': " + shape + ", }";
}

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

/// What numpy.save writes for numpy.array([[1, 2, 3], [4, 5, 6]], "<f4").
std::string numpy_file() {
  return std::string("\x93NUMPY\x01\0\x76\0", 10) +
         "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }" + std::string(58, ' ') +
         "\n" + bytes_of(std::vector<float>{1, 2, 3, 4, 5, 6});
}

/// Reads `bytes` as a file: the error without the path, or "" if there is none.
std::string complaint(const TemporaryFolder& folder, const std::string& bytes) {
  const std::string path = folder / "x.npy";
  write_bytes(path, bytes);
  try {
    read_npy(path);
  } catch (const Error& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.substr(0, path.size() + 2), path + ": ");
    return message.substr(path.size() + 2);
  }
  return "";
}

TEST(Npy, matches_numpy) {
  const TemporaryFolder folder;
  write_bytes(folder / "x.npy", numpy_file());
  const Tensor x = read_npy(folder / "x.npy");
  EXPECT_EQ(x.shape(), Shape({2, 3}));
  EXPECT_EQ(x.to_vector(), (std::vector<float>{1, 2, 3, 4, 5, 6}));
  write_npy(folder / "y.npy", x);
  EXPECT_EQ(read_bytes(folder / "y.npy"), numpy_file());
}

TEST(Npy, reads_what_it_wrote) {
  const TemporaryFolder folder;
  const std::string path = folder / "x.npy";
  for (const Shape& shape : {Shape(), Shape({0}), Shape({7}), Shape({3, 0, 2}),
                             Shape({1, 2, 3, 4, 5}), Shape({100'000'000'000, 0})}) {
    const Tensor x = random_tensor(shape, 1), i = random_ids(shape, -9, 9, 2);
    write_npy(path, x);
    EXPECT_EQ(read_npy(path).shape(), shape);
    EXPECT_EQ(read_npy(path).to_vector(), x.to_vector());
    write_npy(path, i);
    EXPECT_EQ(read_npy(path).to_vector<int32_t>(), i.to_vector<int32_t>());
    const size_t header = read_bytes(path).size() - i.bytes();
    EXPECT_EQ(header % 64, 0u);
  }
  const Tensor bytes = Tensor::from({3}, std::vector<uint8_t>{0, 7, 255});
  write_npy(path, bytes);
  EXPECT_EQ(read_npy(path).to_vector<uint8_t>(), bytes.to_vector<uint8_t>());
}

TEST(Npy, map_shows_the_elements) {
  const TemporaryFolder folder;
  const std::string path = folder / "x.npy";
  write_bytes(path, npy(header_for("|u1", "(2, 2)"), "abcd"));
  NpyMap first(path);
  const NpyMap map(std::move(first));
  EXPECT_EQ(map.dtype(), kU8);
  EXPECT_EQ(map.shape(), Shape({2, 2}));
  EXPECT_EQ(map.numel(), 4);
  EXPECT_EQ(map.data<uint8_t>()[3], 'd');
  EXPECT_EQ(map.path(), path);
  EXPECT_ERROR(map.data<float>(), path + ": elements are u8, not f32");
}

TEST(Npy, other_spellings) {
  const TemporaryFolder folder;
  for (const auto& [major, header] : std::vector<std::pair<int, std::string>>{
           {2, header_for("|u1", "(2, 2)")},
           {3, header_for("|u1", "(2, 2)")},
           {1, "{\"shape\":(2,2,),\"fortran_order\":False,\"descr\":\"|u1\"}"},
           {1, "  { 'shape' : ( 2 , 2 ) , 'descr' : '|u1' , 'fortran_order' : False , } "},
           {1, "{'descr': '|u1', 'fortran_order': False, 'shape': (4,)}"}}) {
    EXPECT_EQ(complaint(folder, npy(header, "abcd", major)), "") << header;
  }
  // Early versions of numpy aligned to 16 bytes.
  const std::string header = header_for("<i4", "(1,)") + "            \n";
  EXPECT_EQ((10 + header.size()) % 64, 16u);
  EXPECT_EQ(complaint(folder, std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(header.size()) +
                                  '\0' + header + "abcd"),
            "");
}

TEST(Npy, refuses_other_arrays) {
  const TemporaryFolder folder;
  EXPECT_EQ(
      complaint(folder, npy("{'descr': '<f4', 'fortran_order': True, 'shape': (1,), }", "abcd")),
      "Fortran order is not supported; save it with numpy.ascontiguousarray");
  EXPECT_EQ(complaint(folder, npy(header_for(">f4", "(1,)"), "abcd")),
            "big-endian elements '>f4' are not supported; save x.astype('<f4')");
  EXPECT_EQ(complaint(folder, npy(header_for("<f8", "(1,)"), "abcdefgh")),
            "elements '<f8' are not supported, only '<f4', '<i4' and '|u1'; save x.astype('<f4')");
  EXPECT_EQ(
      complaint(folder,
                npy("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "abcd")),
      "byte 21: records are not supported; save one field as f4, i4 or u1; "
      "save it again with numpy.save");
  EXPECT_EQ(complaint(folder, npy(header_for("|u1", "(1, 1, 1, 1, 1, 1)"), "a")),
            "the array has more than 5 dimensions; save it reshaped");
}

TEST(Npy, refuses_cut_and_padded_files) {
  const TemporaryFolder folder;
  const std::string whole = numpy_file();
  EXPECT_EQ(complaint(folder, ""), "not an .npy file: it must start with the bytes \\x93NUMPY");
  EXPECT_EQ(complaint(folder, "PK\3\4" + whole),
            "not an .npy file: it must start with the bytes \\x93NUMPY");
  EXPECT_EQ(complaint(folder, whole.substr(0, 9)),
            "the file is cut: it has 9 bytes, and the header needs more; copy it again");
  EXPECT_EQ(complaint(folder, npy("", "", 2).substr(0, 11)),
            "the file is cut: it has 11 bytes, and the header needs more; copy it again");
  EXPECT_EQ(complaint(folder, whole.substr(0, 100)),
            "the file is cut: its header ends at byte 128, the file at byte 100; copy it again");
  EXPECT_EQ(complaint(folder, whole.substr(0, 151)),
            "the file is cut: [2, 3] f32 ends at byte 152, the file at byte 151; copy it again");
  EXPECT_EQ(complaint(folder, whole + "x"),
            "1 bytes too many: [2, 3] f32 ends at byte 152, the file at byte 153; "
            "save one array a file");
  for (size_t size = 0; size < whole.size(); ++size) {
    EXPECT_NE(complaint(folder, whole.substr(0, size)), "") << size << " bytes";
  }
}

TEST(Npy, refuses_malformed_headers) {
  const TemporaryFolder folder;
  const std::string again = "; save it again with numpy.save";
  const std::string no_key = "the header must have the keys descr, fortran_order and shape";
  const std::string item = "{'descr': '|u1', 'fortran_order': False, 'shape': ";  // 50 bytes
  for (const auto& [header, problem] : std::vector<std::pair<std::string, std::string>>{
           {"", "byte 63: expected { in the header, got ?"},
           {"{}", no_key},
           {"{'descr': '|u1', 'shape': (1,)}", no_key},
           {"{'descr': '|u1', 'descr': '|u1'}", "the header has the key descr twice"},
           {"{'descr' '|u1'}", "byte 19: expected : in the header, got '"},
           {"{'descr': '|u1' 'shape': (1,)}", "byte 26: expected } in the header, got '"},
           {"{'descr", "byte 12: a string in the header has no end"},
           {"{descr: '|u1'}", "byte 11: expected ' in the header, got d"},
           {"{'descr': 4}", "byte 20: expected ' in the header, got 4"},
           {"{'order': 4}", "byte 11: unknown key 'order' in the header"},
           {"{'fortran_order': 0}", "byte 28: fortran_order must be True or False"},
           {item + "(1,), 'more\n': 1}", "byte 66: unknown key 'more?' in the header"},
           {item + "(1,)} x", "byte 66: the header must end in spaces and one newline"},
           {item + "(1,)}\n", "byte 65: the header must end in spaces and one newline"},
           {item + "[1]}", "byte 60: expected ( in the header, got ["},
           {item + "(1)}", "byte 63: expected ',' in the shape"},
           {item + "(1 2)}", "byte 63: expected ',' in the shape"},
           {item + "(-1,)}", "byte 61: the shape must be a tuple of sizes"},
           {item + "(,)}", "byte 61: the shape must be a tuple of sizes"},
           {item + "(1.0,)}", "byte 62: expected ',' in the shape"},
           {item + "(1L,)}", "byte 62: expected ',' in the shape"},
           {item + "(9999999999999999999,)}", "byte 79: a size in the shape is too large"},
           {item + "(4294967296, 4294967296)}", "the shape in the header has too many elements"}}) {
    const std::string got = complaint(folder, npy(header, "a"));
    EXPECT_EQ(got.substr(0, got.find(again)), problem) << header;
  }
}

TEST(Npy, refuses_versions_and_misplaced_elements) {
  const TemporaryFolder folder;
  EXPECT_EQ(complaint(folder, npy(header_for("|u1", "(1,)"), "a", 4)),
            "format version 4.0 is not supported, only 1.0, 2.0 and 3.0; "
            "save it again with numpy.save");
  EXPECT_EQ(complaint(folder, npy(header_for("|u1", "(1,)"), "a", 1, 1)),
            "format version 1.1 is not supported, only 1.0, 2.0 and 3.0; "
            "save it again with numpy.save");
  const std::string header = header_for("<i4", "(1,)") + "  \n";
  EXPECT_EQ(complaint(folder, std::string("\x93NUMPY\x01\0", 8) + static_cast<char>(header.size()) +
                                  '\0' + header + "abcd"),
            "the elements start at byte 70, which is not a multiple of 4; "
            "save it again with numpy.save");
}

TEST(Npy, mutations) {
  const TemporaryFolder folder;
  std::mt19937_64 random(1);
  const std::string whole = npy(header_for("<i4", "(2, 3)"), bytes_of(std::vector<int>(6, 77)));
  const std::string path = folder / "x.npy";
  const int count = static_cast<int>(sized(3000, 1000));
  int refused = 0;
  for (int n = 0; n < count; ++n) {
    const std::string bytes = mutated(whole, 75, random);
    write_bytes(path, bytes);
    try {
      EXPECT_LE(read_npy(path).bytes(), static_cast<int64_t>(bytes.size()) - 10);
    } catch (const Error& error) {
      ++refused;
      const std::string message = error.what();
      EXPECT_EQ(message.substr(0, path.size() + 2), path + ": ");
      EXPECT_EQ(message.find('\n'), message.npos);
      EXPECT_LT(message.size(), path.size() + 200);
    }
  }
  EXPECT_GT(refused, count / 2);
  EXPECT_LT(refused, count);  // some changes do no harm: other elements, other spaces
}

TEST(Npy, errors) {
  const TemporaryFolder folder;
  const std::string path = folder / "x.npy";
  EXPECT_ERROR(read_npy(path), path + ": cannot open: No such file or directory");
  EXPECT_ERROR(write_npy(path, Tensor()), path + ": cannot write: the tensor is undefined");
  EXPECT_ERROR(write_npy(path, Tensor::empty({2}, kBF16)),
               path + ": cannot write: .npy has no type for bf16");
  EXPECT_EQ(folder.file_count(), 0);
}

}  // namespace
}  // namespace loopless::testing
