"""The images and what runs in them: linted, and run here as far as no container engine is needed."""
