"""Masks on fields that secrets were typed into.

`typed_fields` remembers how a field with a typed secret looks, and `typed_field_pixels` finds it by its shape. If the
field is lost, the program's windows are masked, or `typed_field_ocr` searches the frame for the value.

`typed_fields` places the masks, `typed_field_pixels` and `typed_field_ocr` find the text again. The package imports
`core` and `safety.masking`.
"""
