"""A record that would run a script and load a picture from elsewhere if a page took it for markup."""

MARKUP = "<img src=http://evil.example/x onerror=alert(1)><script>alert(2)</script>"
