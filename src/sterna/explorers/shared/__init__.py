"""What several explorers share: compositions of parts, moves on the line, leapfrog steps, archives of states."""
