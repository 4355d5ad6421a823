"""What is said again is merged into what is known: facts, episodes, concepts, speakers, doubts."""
