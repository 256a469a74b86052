"""A format in the forms that other programs take, and as a certificate that is stored beside a model."""
