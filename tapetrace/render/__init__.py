"""From a Report to what people read: text, JSON, SARIF, Markdown, pictures and a page."""
