"""What is made of memories behind the turns: knowledge, skills, tasks, and facts that say the same."""
