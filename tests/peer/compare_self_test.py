#!/usr/bin/env python3
"""The comparer itself: known values, and that it can fail."""

import array
import math
import pathlib
import struct
import tempfile
import unittest

import compare


class CompareTest(unittest.TestCase):
    def test_divergence_of_known_distributions(self):
        """D((1/2, 1/2) || (1/4, 3/4)) = ln(2 / sqrt(3)), whatever is added to the logits."""
        reference = [5.0, 5.0]
        other = [math.log(0.25) - 7, math.log(0.75) - 7]
        self.assertAlmostEqual(compare.kl(reference, other), math.log(2 / math.sqrt(3)), places=12)
        self.assertAlmostEqual(compare.kl(reference, reference), 0, places=15)

    def test_a_wrong_row_is_above_the_limits(self):
        right = [[1.0, 2.0, 6.0]] * 256
        wrong = [[1.0, 2.0, 6.0]] * 255 + [[6.0, 2.0, 1.0]]
        result = compare.divergence(right, wrong)
        self.assertEqual(result.positions, 256)
        self.assertEqual(result.same_first, 255)
        self.assertEqual(result.logit_difference, 5)
        self.assertGreater(result.mean, 5e-3)

    def test_what_is_no_number_is_an_error(self):
        with self.assertRaisesRegex(ValueError, "row 0"):
            compare.divergence([[1.0, 2.0]], [[1.0, math.nan]])

    def test_different_shapes_are_errors(self):
        with self.assertRaises(ValueError):
            compare.divergence([[1.0, 2.0]], [[1.0, 2.0]] * 2)
        with self.assertRaises(ValueError):
            compare.kl([1.0, 2.0], [1.0, 2.0, 3.0])

    def test_gaps_of_other_choices(self):
        reference = [[1.0, 3.0, 2.5], [4.0, 1.0, 1.0]]
        self.assertEqual(compare.choice_gaps(reference, reference), {})
        self.assertEqual(compare.choice_gaps(reference, [[0.0, 1.0, 2.0], [4.0, 0.0, 0.0]]), {0: 0.5})
        self.assertEqual(compare.choice_gaps(reference, [[0.0, 1.0, 0.0], [0.0, 0.0, 9.0]]), {1: 3.0})

    def test_lists_of_ids(self):
        self.assertIsNone(compare.first_difference([1, 2], [1, 2], 2))
        self.assertIn("id 1 is 3 against 2", compare.first_difference([1, 3], [1, 2], 2))
        self.assertIn("instead of 2", compare.first_difference([1], [1], 2))

    def test_reads_npy(self):
        header = b"{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }"
        header += b" " * (63 - (10 + len(header)) % 64) + b"\n"
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder, "x.npy")
            path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + struct.pack("<6f", *range(6)))
            rows = compare.read_npy(path)
            self.assertEqual(rows, [array.array("f", [0, 1, 2]), array.array("f", [3, 4, 5])])
            path.write_bytes(b"not npy")
            with self.assertRaises(ValueError):
                compare.read_npy(path)


if __name__ == "__main__":
    unittest.main()
