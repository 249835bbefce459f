"""What is read and found on a picture: texts, outlines, small pictures, states. Raw pixels come in, and stay here."""
