"""The proof of the answers: scenarios of the simulated apartment, questions with their truth, and marks."""
