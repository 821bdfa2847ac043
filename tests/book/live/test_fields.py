"""Four fields: who is beyond the lines of two tasks, and what a point says."""


def test_a_point_stands_where_its_medians_are_and_says_its_numbers(widget):
    page = widget("fields")
    held = page.locator(".fields-box").all_inner_texts
    assert [" ".join(text.split()) for text in held()] == ["two alone 0", "Both 1 A", "Neither 1 C", "one alone 1 B"]
    page.get_by_role("button", name="B", exact=True).focus()
    assert page.locator(".fields-told").inner_text().startswith("B. one: share 1, 5 of 5 seeds beyond the line")
    page.get_by_label("upwards").select_option("three")
    assert "Not raced on both: C." in page.locator(".fields-out").inner_text() and "three alone" in held()[0]
    page.get_by_label("upwards").select_option("one")  # the other side gives way
    assert page.get_by_label("To the right").input_value() == "three"
